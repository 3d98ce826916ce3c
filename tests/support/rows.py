"""Jobs in every status, and their rows as the database holds them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection

from django_jobqueue.models import Job
from django_jobqueue.vendors import Now

STATUSES = ("scheduled", "pending", "running", "completed", "failed", "cancelled")


def job_in(status: str, **options: Any) -> Job:
    """A new job in ``status``. A scheduled one is due, a running one (of ``worker-1``) is stale.

    No other job may be waiting in its queue.
    """
    job = Job.objects.enqueue("test.noop", **options)
    if status == "scheduled":
        Job.objects.filter(pk=job.pk).update(status="scheduled", run_at=Now(-1))
    elif status == "cancelled":
        Job.objects.cancel(job.pk)
    elif status != "pending":
        claimed = Job.objects.claim(worker_id="worker-1", queues=[job.queue])
        assert claimed is not None and claimed.pk == job.pk
        if status == "running":
            expire(job.pk)
        elif status == "completed":
            Job.objects.complete(job.pk, result={"sent": 1})
        elif status == "failed":
            Job.objects.fail(job.pk, error="boom", fencing_token=1, retryable=False)
    return Job.objects.get(pk=job.pk)


def claimed(worker_id: str = "worker-1", **options: Any) -> Job:
    """A new job, claimed by ``worker_id``, with its lease still running."""
    Job.objects.enqueue("test.noop", **options)
    job = Job.objects.claim(worker_id=worker_id)
    assert job is not None
    return job


def expire(job_id: int) -> None:
    """Let the job's lease have run out a second ago, on a claim of an hour ago."""
    Job.objects.filter(pk=job_id).update(lease_expires_at=Now(-1), claimed_at=Now(-3600))


def row_of(job_id: int) -> tuple[Any, ...] | None:
    """The job's row, byte for byte, and how many attempts it has."""
    attempts = "(SELECT count(*) FROM django_jobqueue_jobattempt a WHERE a.job_id = j.id)"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT j.*, {attempts} FROM django_jobqueue_job j WHERE j.id = %s", [job_id])
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def seven_seconds(retry: int) -> float:
    """A backoff that a job can name by its path."""
    return 7.0


IN_AN_HOUR = timedelta(hours=1)

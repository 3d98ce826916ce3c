"""running -> pending | scheduled, no retry counted."""

from __future__ import annotations

from datetime import timedelta

from django_jobqueue.models import JobAttempt
from tests.support.rows import claimed


def test_a_released_job_is_pending_and_no_retry_is_counted(jobs):
    job = jobs.release(claimed().pk, fencing_token=1)
    assert (job.status, job.retry_count, job.fencing_token) == ("pending", 0, 1)
    assert (job.worker_id, job.claimed_by, job.claimed_at, job.lease_expires_at) == ("", "", None, None)
    assert JobAttempt.objects.count() == 0


def test_a_job_without_retries_is_released_too(jobs):
    job = jobs.release(claimed(max_retries=0).pk, fencing_token=1)
    assert (job.status, job.retry_count) == ("pending", 0)


def test_a_delay_schedules_the_job(jobs):
    job = jobs.release(claimed().pk, fencing_token=1, delay=90)
    assert (job.status, job.run_at - job.updated_at) == ("scheduled", timedelta(seconds=90))
    assert (job.retry_count, job.lease_expires_at) == (0, None)


def test_a_reason_is_kept(jobs):
    assert jobs.release(claimed().pk, fencing_token=1, reason="no such handler").error == "no such handler"


def test_without_a_reason_the_last_error_stays(jobs):
    jobs.fail(claimed().pk, error="boom", fencing_token=1)
    job = jobs.claim(worker_id="worker-1")
    assert jobs.release(job.pk, fencing_token=2).error == "boom"


def test_a_released_job_is_the_next_one_again(jobs):
    job = claimed()
    jobs.enqueue("test.noop")
    jobs.release(job.pk, fencing_token=1)
    assert jobs.claim(worker_id="worker-2").pk == job.pk

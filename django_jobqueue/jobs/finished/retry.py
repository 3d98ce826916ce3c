"""failed | cancelled -> pending: one more run, asked for by a person or the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_jobqueue.exceptions import WrongStatus
from django_jobqueue.jobs.queryset import transition
from django_jobqueue.jobs.running.claims import read
from django_jobqueue.vendors import Now

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job


def retry(manager: JobManager, job_id: int) -> Job:
    """Run a failed or cancelled job once more; ``retry_count`` and ``error`` stay as they are.

    Raises ``WrongStatus`` for any other job, and ``JobNotFound``.
    """
    job = transition(
        manager,
        job_id,
        "retry",
        status="pending",
        run_at=Now(),
        finished_at=None,
        cancel_requested_at=None,
        claimed_at=None,
        worker_id="",
        claimed_by="",
    )
    if job is None:
        raise WrongStatus(job_id, read(manager, job_id).status, "retry")
    return job

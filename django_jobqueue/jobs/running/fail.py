"""running -> pending | scheduled | failed | cancelled, told by the holder of the claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_jobqueue.jobs import limits
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.jobs.running.retry_or_fail import retry_or_fail

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job


def fail(
    manager: JobManager,
    job_id: int,
    *,
    error: str,
    fencing_token: int | None = None,
    claimed_by: str | None = None,
    retryable: bool = True,
    retry_in: float | None = None,
) -> Job:
    """Report that the attempt failed, with its reason; see ``retry_or_fail`` for what follows and is raised.

    ``retryable=False`` fails the job whatever retries it has left; ``retry_in`` (seconds) overrides the
    backoff.
    """
    if retry_in is not None:
        retry_in = limits.check_seconds("retry_in", retry_in, 0, 366 * 86400)
    failure = Failure(error=str(error), retryable=retryable, retry_in=retry_in)
    return retry_or_fail(manager, job_id, failure, fencing_token=fencing_token, claimed_by=claimed_by)

"""running -> pending | scheduled | failed | cancelled, for jobs that nobody works on any more."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.db import DatabaseError, connections
from django.db.models import Q

from django_jobqueue.exceptions import JobNotFound, TransitionRefused
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.jobs.running.retry_or_fail import retry_or_fail
from django_jobqueue.vendors import Now

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job
    from django_jobqueue.jobs.queryset import JobQuerySet

logger = logging.getLogger("django_jobqueue")


def reap(manager: JobManager, *, older_than: float | None = None, limit: int | None = None) -> list[Job]:
    """Take stale jobs from their claims and retry or fail them; returns them as they are now.

    Stale means that the lease has run out, or, with ``older_than`` (seconds), that the claim is older than
    that, whatever its lease. Each job that is stale when the call begins is tried once, the stalest first, in
    a transaction of its own. Rows that another transaction holds are passed over, and one that cannot be
    changed hides none behind it. ``limit`` bounds how many are reaped.
    """
    connection = connections[manager.write_alias]
    stale = _stale(older_than)
    # One listing without locks: the fence and ``only_if`` guard what follows.
    listed = list(list_stale(manager, older_than=older_than).values_list("pk", "fencing_token", "worker_id"))
    reaped: list[Job] = []
    for job_id, token, worker_id in listed:
        if limit is not None and len(reaped) >= limit:
            break
        failure = Failure(error=_reason(worker_id, older_than), outcome="lost")
        try:
            job = retry_or_fail(
                manager, job_id, failure, fencing_token=token, only_if=stale, skip_locked=True
            )
        except (TransitionRefused, JobNotFound):
            continue  # finished, renewed or held by another transaction since it was listed
        except DatabaseError:
            if connection.in_atomic_block or connection.connection is None or not connection.is_usable():
                raise
            logger.exception("Job %s cannot be reaped now", job_id)
        else:
            reaped.append(job)
    return reaped


def list_stale(manager: JobManager, *, older_than: float | None = None) -> JobQuerySet:
    """The jobs that ``reap`` with the same argument would take, the stalest first."""
    jobs = manager.get_queryset().using(manager.write_alias)
    return jobs.filter(_stale(older_than)).order_by("lease_expires_at")


def _stale(older_than: float | None) -> Q:
    if older_than is None:
        return Q(status="running", lease_expires_at__lte=Now())
    seconds = limits.check_seconds("older_than", older_than, 0, 100 * 366 * 86400)
    return Q(status="running", claimed_at__lte=Now(-seconds) if seconds else Now())


def _reason(worker_id: str, older_than: float | None) -> str:
    if older_than is None:
        return f"The worker {worker_id} stopped renewing its lease; it was stopped or lost."
    return f"The worker {worker_id} held the job for more than {older_than:g} s."

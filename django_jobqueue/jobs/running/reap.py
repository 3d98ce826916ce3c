"""running -> pending | scheduled | failed | cancelled, for jobs that nobody works on any more."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q

from django_jobqueue.exceptions import TransitionRefused
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.jobs.running.retry_or_fail import retry_or_fail_many
from django_jobqueue.vendors import Now, vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job
    from django_jobqueue.jobs.queryset import JobQuerySet

logger = logging.getLogger("django_jobqueue")

BATCH = 500


def reap(manager: JobManager, *, older_than: float | None = None, limit: int | None = None) -> list[Job]:
    """Take stale jobs from their claims and retry or fail them; returns them as they are now.

    Stale means that the lease has run out, or, with ``older_than`` (seconds), that the claim is older than
    that, whatever its lease. Each job that is stale when the call begins is tried once, the stalest first, in
    transactions of up to 500. Rows that another transaction holds are passed over, and one that cannot be
    changed hides none behind it. ``limit`` bounds how many are reaped.
    """
    return [job for batch in reap_batches(manager, older_than=older_than, limit=limit) for job in batch]


def reap_batches(
    manager: JobManager, *, older_than: float | None = None, limit: int | None = None
) -> Iterator[list[Job]]:
    """``reap`` in steps: yields what each transaction reaped, and keeps nothing of the steps before.

    The jobs come without payload, result and progress, which are loaded when they are read.
    """
    stale = _stale(older_than)

    def failure_of(job: Job) -> Failure:
        return Failure(error=_reason(job.worker_id, older_than), outcome="lost")

    # Listed without locks: ``stale`` guards what follows. Each page begins behind the last row of the one before,
    # so that what is passed over hides nothing, and what is claimed again meanwhile is not met a second time.
    left = list_stale(manager, older_than=older_than).order_by("lease_expires_at", "pk")
    page, began, reaped = left, None, 0
    while limit is None or reaped < limit:
        size = BATCH if limit is None else min(BATCH, limit - reaped)
        listed = list(page.values_list("pk", "lease_expires_at", Now())[:size])
        if not listed:
            return
        place = {job_id: number for number, (job_id, _, _) in enumerate(listed)}
        batch = sorted(_reap(manager, list(place), failure_of, stale), key=lambda job: place[job.pk])
        reaped += len(batch)
        yield batch
        if len(listed) < size:
            return
        last, lease, read_at = listed[-1]
        began = began or read_at
        behind = Q(lease_expires_at__gt=lease) | Q(lease_expires_at=lease, pk__gt=last)
        page = left.filter(behind, claimed_at__lte=began)


def _reap(
    manager: JobManager, job_ids: list[int], failure_of: Callable[[Job], Failure], stale: Q
) -> list[Job]:
    """Those of ``job_ids`` that are stale still: all together or, where one is in the way, by halves."""
    connection = connections[manager.write_alias]
    try:
        return retry_or_fail_many(manager, job_ids, failure_of, only_if=stale)
    except (DatabaseError, TransitionRefused) as error:
        if isinstance(error, DatabaseError) and not _says_something_of_a_row(error, connection):
            raise
        if half := len(job_ids) // 2:
            halves = job_ids[:half], job_ids[half:]
            return [job for some in halves for job in _reap(manager, some, failure_of, stale)]
        if isinstance(error, DatabaseError):
            logger.exception("Job %s cannot be reaped now", job_ids[0])
        return []  # else renewed or finished since it was listed


def _says_something_of_a_row(error: DatabaseError, connection: BaseDatabaseWrapper) -> bool:
    """Not of the connection, the transaction around, or a lock that was not to be had."""
    if connection.in_atomic_block or connection.connection is None or not connection.is_usable():
        return False
    return not vendor_for(connection).is_transient(error)


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

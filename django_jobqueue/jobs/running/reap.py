"""running -> pending | scheduled | failed | cancelled, for jobs that nobody works on any more."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.db import DatabaseError, connections, transaction
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

BATCH = 100


def reap(manager: JobManager, *, older_than: float | None = None, limit: int | None = None) -> list[Job]:
    """Take stale jobs from their claims and retry or fail them; returns them as they are now.

    Stale means that the lease has run out, or, with ``older_than`` (seconds), that the claim is older than
    that, whatever its lease. Rows that another process holds are passed over, and one that cannot be changed
    hides none behind it. ``limit`` bounds how many are reaped.
    """
    reaped: list[Job] = []
    stuck: list[int] = []
    while limit is None or len(reaped) < limit:
        batch = _batch(manager, _stale(older_than), stuck, BATCH if limit is None else limit - len(reaped))
        if not batch:
            break
        for job_id, token, worker_id in batch:
            reason = (
                f"The worker {worker_id} stopped renewing its lease; it was stopped or lost."
                if older_than is None
                else f"The worker {worker_id} held the job for more than {older_than:g} s."
            )
            try:
                reaped.append(
                    retry_or_fail(
                        manager,
                        job_id,
                        Failure(error=reason, outcome="lost"),
                        fencing_token=token,
                        only_if=_stale(older_than),
                    )
                )
            except (TransitionRefused, JobNotFound):
                stuck.append(job_id)  # finished or renewed since it was listed
            except DatabaseError:
                if connections[manager.write_alias].in_atomic_block:
                    raise
                logger.exception("Job %s cannot be reaped now", job_id)
                stuck.append(job_id)
    return reaped


def list_stale(manager: JobManager, *, older_than: float | None = None) -> JobQuerySet:
    """The jobs that ``reap`` with the same argument would take, the stalest first."""
    return manager.get_queryset().using(manager.write_alias).filter(_stale(older_than)).order_by(
        "lease_expires_at"
    )


def _stale(older_than: float | None) -> Q:
    if older_than is None:
        return Q(status="running", lease_expires_at__lte=Now())
    seconds = limits.check_seconds("older_than", older_than, 0, 100 * 366 * 86400)
    return Q(status="running", claimed_at__lte=Now(-seconds) if seconds else Now())


def _batch(manager: JobManager, stale: Q, stuck: list[int], size: int) -> list[tuple[int, int, str]]:
    alias = manager.write_alias
    jobs = manager.using(alias).filter(stale).exclude(pk__in=stuck).order_by("lease_expires_at")
    # Skipping locked rows needs a transaction; the locks end with it, and the fence guards what follows.
    with transaction.atomic(using=alias):
        if connections[alias].features.has_select_for_update_skip_locked:
            jobs = jobs.select_for_update(skip_locked=True)
        return list(jobs.values_list("pk", "fencing_token", "worker_id")[: min(size, BATCH)])

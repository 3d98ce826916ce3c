"""running -> pending | scheduled | failed | cancelled: the one place where a retry is decided."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from django.db import connections, transaction
from django.db.models import Q

from django_jobqueue import registry
from django_jobqueue.backoff import Backoff, from_meta, resolve
from django_jobqueue.conf import settings
from django_jobqueue.exceptions import ClaimLost
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.queryset import attempts_of, transition
from django_jobqueue.jobs.retry_policy import Decision, Failure, decide
from django_jobqueue.jobs.running.claims import holds, read, refusal
from django_jobqueue.jobs.status import FINISHED
from django_jobqueue.vendors import Now, retry_transient

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job

logger = logging.getLogger("django_jobqueue")

_READS = 10  # under repeatable read a changed row can look unchanged for ever


def retry_or_fail(
    manager: JobManager,
    job_id: int,
    failure: Failure,
    *,
    fencing_token: int | None = None,
    claimed_by: str | None = None,
    only_if: Q | None = None,
) -> Job:
    """End a running attempt that did not succeed, and keep the attempt's record.

    With retries left the job is pending again, or scheduled with backoff, and ``retry_count`` rises by one;
    without, it is failed; where a cancel was requested, it is cancelled. ``only_if`` is one more guard on the
    row. Repeating the call with the same token returns the job again. Raises ``ClaimLost``, ``NotOwner``,
    ``NotRunning`` or ``JobNotFound``; then nothing was changed.
    """
    alias = manager.write_alias

    def attempt() -> Job:
        with transaction.atomic(using=alias):
            return _end_attempt(manager, job_id, failure, fencing_token, claimed_by, only_if or Q())

    return retry_transient(connections[alias], attempt)


def _end_attempt(
    manager: JobManager,
    job_id: int,
    failure: Failure,
    fencing_token: int | None,
    claimed_by: str | None,
    only_if: Q,
) -> Job:
    guard = holds(fencing_token, claimed_by)
    for _ in range(_READS):
        before = read(manager, job_id)
        if before.status != "running" or not _matches(before, fencing_token, claimed_by):
            if fencing_token is not None and _failed_before(manager, job_id, fencing_token):
                return before
            raise refusal(before, fencing_token, claimed_by, "fail")
        decision = decide(
            failure,
            retry_count=before.retry_count,
            max_retries=before.max_retries,
            cancel_requested=before.cancel_requested_at is not None,
            backoff=backoff_of(before),
        )
        # What the decision was based on is part of the guard, so a cancel request in between is not lost.
        as_read = Q(
            fencing_token=before.fencing_token, cancel_requested_at__isnull=before.cancel_requested_at is None
        )
        after = transition(
            manager, job_id, "retry_or_fail", guard & as_read & only_if, **_changes(decision, failure)
        )
        if after is not None:
            _record(manager, before, after, failure)
            return after
        if only_if and not manager.using(manager.write_alias).filter(only_if, pk=job_id).exists():
            break
    raise ClaimLost(job_id)


def _changes(decision: Decision, failure: Failure) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "status": decision.status,
        "retry_count": decision.retry_count,
        "error": limits.shorten(failure.error) or "failed",
        "lease_expires_at": None,
    }
    if decision.status in FINISHED:
        return {**changes, "finished_at": Now()}
    return {**changes, "run_at": Now(decision.delay), "claimed_at": None, "worker_id": "", "claimed_by": ""}


def _record(manager: JobManager, before: Job, after: Job, failure: Failure) -> None:
    attempts = attempts_of(manager)
    attempts.create(
        job=after,
        number=attempts.filter(job=after).count() + 1,
        fencing_token=before.fencing_token,
        worker_id=before.worker_id,
        started_at=before.claimed_at,
        ended_at=after.updated_at,
        outcome="cancelled" if after.status == "cancelled" else failure.outcome,
        exception_class=limits.shorten(failure.exception_class, 255),
        message=limits.shorten(failure.error),
        traceback=limits.shorten(failure.traceback, 4 * limits.ERROR_LENGTH),
    )


def _matches(job: Job, fencing_token: int | None, claimed_by: str | None) -> bool:
    return fencing_token in (None, job.fencing_token) and claimed_by in (None, job.claimed_by)


def _failed_before(manager: JobManager, job_id: int, fencing_token: int) -> bool:
    """Whether the holder of this token reported its failure already (the answer may have been lost)."""
    ended = attempts_of(manager).filter(job=job_id, fencing_token=fencing_token)
    return ended.exclude(outcome="lost").exists()


def backoff_of(job: Job) -> Backoff | None:
    """The job's own backoff, else its handler's, else the setting's; one that cannot be loaded counts as none."""
    try:
        if "_backoff" in job.meta:
            return from_meta(job.meta["_backoff"])
        handler = registry.get(job.type)
        if handler is not None and handler.backoff is not None:
            return handler.backoff
        return resolve(settings().RETRY_BACKOFF)
    except Exception:
        logger.exception("The backoff of job %s cannot be loaded; it is retried at once", job.pk)
        return None

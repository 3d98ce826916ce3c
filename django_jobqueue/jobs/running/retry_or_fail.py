"""running -> pending | scheduled | failed | cancelled: the one place where a retry is decided."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import connections, transaction
from django.db.models import Count, Q

from django_jobqueue import registry
from django_jobqueue.backoff import Backoff, delay_before, from_meta, resolve
from django_jobqueue.conf import settings
from django_jobqueue.exceptions import ClaimLost, Interruption
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.queryset import attempts_of, in_source_of, transition
from django_jobqueue.jobs.retry_policy import Decision, Failure, decide
from django_jobqueue.jobs.running.claims import holds, read, refusal
from django_jobqueue.jobs.status import FINISHED
from django_jobqueue.vendors import Now, retry_transient

if TYPE_CHECKING:
    from django_jobqueue.jobs.attempt import JobAttempt
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job
    from django_jobqueue.jobs.queryset import JobQuerySet

logger = logging.getLogger("django_jobqueue")


def retry_or_fail(
    manager: JobManager,
    job_id: int,
    failure: Failure,
    *,
    fencing_token: int | None = None,
    claimed_by: str | None = None,
) -> Job:
    """End a running attempt that did not succeed, and keep the attempt's record.

    With retries left the job is pending again, or scheduled with backoff, and ``retry_count`` rises by one;
    without, it is failed; where a cancel was requested, it is cancelled. Repeating the call with the same
    token returns the job again. Raises ``ClaimLost``, ``NotOwner``, ``NotRunning`` or ``JobNotFound``; then
    nothing was changed.
    """
    alias = manager.write_alias
    guard = holds(fencing_token, claimed_by)

    def end_attempt() -> Job:
        with transaction.atomic(using=alias):
            before = _locked(manager, guard & Q(pk=job_id)).first()
            if before is None:
                return _repeated(manager, job_id, failure, fencing_token, claimed_by)
            decision = _decide(before, failure)
            # What the decision was based on is part of the guard, also where the read has locked no row.
            as_read = Q(
                fencing_token=before.fencing_token,
                cancel_requested_at__isnull=before.cancel_requested_at is None,
            )
            changes = _changes(decision, failure)
            after = transition(manager, job_id, "retry_or_fail", guard & as_read, **changes)
            if after is None:
                raise ClaimLost(job_id)
            attempts = attempts_of(manager)
            number = attempts.filter(job=after).count() + 1
            _attempt(manager, before, after, failure, number).save(using=alias, force_insert=True)
            return after

    return retry_transient(connections[alias], end_attempt)


_LARGE = ("payload", "result", "progress")
"""What no decision needs."""


def retry_or_fail_many(
    manager: JobManager, job_ids: Collection[int], failure_of: Callable[[Job], Failure], *, only_if: Q
) -> list[Job]:
    """``retry_or_fail`` for running jobs whose workers report no more, in one transaction.

    Returns those for which ``only_if`` held, as they are now, in the order of their ids. Rows that another
    transaction holds are passed over. Raises ``ClaimLost`` when a row changed meanwhile; then none was changed.
    """
    alias = manager.write_alias

    def end_attempts() -> list[Job]:
        with transaction.atomic(using=alias):
            skip_locked = connections[alias].features.has_select_for_update_skip_locked
            lost = _locked(manager, only_if & Q(pk__in=job_ids), skip_locked=skip_locked)
            before = {job.pk: job for job in lost.defer(*_LARGE).order_by("pk")}
            failures = {job.pk: failure_of(job) for job in before.values()}
            alike: defaultdict[tuple[Decision, str], list[int]] = defaultdict(list)
            for pk, job in before.items():
                alike[_decide(job, failures[pk]), failures[pk].error].append(pk)
            for (decision, _), pks in alike.items():
                changes = {**_changes(decision, failures[pks[0]]), "updated_at": Now()}
                rows = manager.using(alias).filter(in_source_of("retry_or_fail"), pk__in=pks)
                if rows.update(**changes) != len(pks):
                    raise ClaimLost(pks[0])
            after = [job for _, job in sorted(manager.using(alias).defer(*_LARGE).in_bulk(before).items())]
            attempts = attempts_of(manager)
            counted = attempts.filter(job__in=before).order_by().values_list("job").annotate(Count("pk"))
            numbers = dict(counted)
            attempts.bulk_create(
                _attempt(manager, before[job.pk], job, failures[job.pk], numbers.get(job.pk, 0) + 1)
                for job in after
            )
            return after

    return retry_transient(connections[alias], end_attempts)


def _locked(manager: JobManager, guard: Q, *, skip_locked: bool = False) -> JobQuerySet:
    """The running jobs as they are now, also under repeatable read; locked, so that they stay so."""
    jobs = manager.get_queryset().using(manager.write_alias).filter(guard, in_source_of("retry_or_fail"))
    return jobs.select_for_update(skip_locked=skip_locked)


def _decide(job: Job, failure: Failure) -> Decision:
    return decide(
        failure,
        retry_count=job.retry_count,
        max_retries=job.max_retries,
        cancel_requested=job.cancel_requested_at is not None,
        backoff=backoff_of(job),
    )


def _repeated(
    manager: JobManager, job_id: int, failure: Failure, fencing_token: int | None, claimed_by: str | None
) -> Job:
    """The job, if the holder of this token reported its failure already (the answer may have been lost)."""
    job = read(manager, job_id)
    if fencing_token is not None and failure.outcome != "lost":
        ended = attempts_of(manager).filter(job=job_id, fencing_token=fencing_token)
        if ended.exclude(outcome="lost").exists():
            return job
    raise refusal(job, fencing_token, claimed_by, "fail")


def _changes(decision: Decision, failure: Failure) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "status": decision.status,
        "retry_count": decision.retry_count,
        "error": limits.shorten(failure.error) or "failed",
        "lease_expires_at": None,
    }
    if failure.outcome == "lost":
        changes["quarantined"] = True  # for good: a job may kill its process at every other attempt
    if decision.status in FINISHED:
        return {**changes, "finished_at": Now()}
    return {**changes, "run_at": Now(decision.delay), "claimed_at": None, "worker_id": "", "claimed_by": ""}


def _attempt(manager: JobManager, before: Job, after: Job, failure: Failure, number: int) -> JobAttempt:
    assert before.claimed_at is not None  # a constraint: a running job is claimed
    return attempts_of(manager).model(
        job=after,
        number=number,
        fencing_token=before.fencing_token,
        worker_id=before.worker_id,
        started_at=before.claimed_at,
        ended_at=after.updated_at,
        outcome=_outcome(after, failure),
        exception_class=limits.shorten(failure.exception_class, 255),
        message=limits.shorten(failure.error),
        traceback=limits.shorten(failure.traceback, 4 * limits.ERROR_LENGTH),
    )


def _outcome(after: Job, failure: Failure) -> str:
    if failure.outcome != "lost" and after.status == "cancelled":
        return "cancelled"
    return failure.outcome  # also of a job that was cancelled: its worker, if alive, did not report this end


def backoff_of(job: Job) -> Backoff:
    """The job's own backoff, else its handler's, else the setting's, which also stands in for one that fails."""

    def seconds_before(retry: int) -> float:
        for chosen in (partial(_chosen_backoff, job), _default_backoff):
            try:
                return delay_before(retry, chosen())
            except Interruption:
                raise
            except BaseException:  # it is the project's code, and this the caller of a neighbour, too
                logger.exception("The backoff of job %s cannot be used", job.pk)
        return 0.0

    return seconds_before


def _default_backoff() -> Backoff | None:
    return resolve(settings().RETRY_BACKOFF)


def _chosen_backoff(job: Job) -> Backoff | None:
    if "_backoff" in job.meta:
        return from_meta(job.meta["_backoff"])
    handler = registry.get(job.type)
    if handler is not None and handler.backoff is not None:
        return handler.backoff
    return _default_backoff()

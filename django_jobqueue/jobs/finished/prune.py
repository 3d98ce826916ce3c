"""completed | failed | cancelled -> gone."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from django.db import connections, transaction

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.dependents import Pruned, delete_with_dependents, has_dependents
from django_jobqueue.jobs.queryset import attempts_of
from django_jobqueue.jobs.status import FINISHED
from django_jobqueue.vendors import Now, retry_transient

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.queryset import JobQuerySet

BATCH = 500


def prune(
    manager: JobManager,
    *,
    older_than: float,
    statuses: Collection[str] = FINISHED,
    batch_size: int = BATCH,
    limit: int | None = None,
) -> Pruned:
    """Delete jobs that finished more than ``older_than`` seconds ago, with their attempts; returns how many.

    Works in transactions of ``batch_size`` jobs, so that workers never wait long, and passes over rows that
    another process holds. What the project's rows say with ``on_delete`` is honoured: what they protect stays,
    and is counted as ``kept`` on the answer. Raises ``InvalidJob`` for a status that is no end state.
    """
    limits.check_integer("batch_size", batch_size, 1, 10_000)
    alias = manager.write_alias
    connection = connections[alias]
    prunable = _prunable(manager, older_than, statuses)
    last = deleted = kept = 0
    while limit is None or deleted < limit:
        size = batch_size if limit is None else min(batch_size, limit - deleted)
        # Listed without locks, then locked by primary key: a scan that locks can hide live jobs from claims.
        listed = list(prunable.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:size])
        if not listed:
            break
        last = listed[-1]
        pruned = retry_transient(connection, partial(_delete, manager, prunable.filter(pk__in=listed)))
        deleted += pruned
        kept += pruned.kept
    return Pruned(deleted, kept)


def _delete(manager: JobManager, jobs: JobQuerySet) -> Pruned:
    alias = manager.write_alias
    skip_locked = connections[alias].features.has_select_for_update_skip_locked
    with transaction.atomic(using=alias):
        ids = list(jobs.select_for_update(skip_locked=skip_locked).values_list("pk", flat=True))
        attempts = attempts_of(manager)
        if has_dependents(manager.model, attempts.model):
            rows = manager.get_queryset().using(alias).without_payloads()
            deleted = delete_with_dependents(rows, ids)
            return Pruned(deleted, len(ids) - deleted)
        attempts.filter(job__in=ids)._raw_delete(alias)
        manager.using(alias).filter(pk__in=ids)._raw_delete(alias)
    return Pruned(len(ids))


def count_prunable(manager: JobManager, *, older_than: float, statuses: Collection[str] = FINISHED) -> int:
    """How many jobs ``prune`` with the same arguments would delete now."""
    return _prunable(manager, older_than, statuses).count()


def _prunable(manager: JobManager, older_than: float, statuses: Collection[str]) -> JobQuerySet:
    seconds = limits.check_seconds("older_than", older_than, 0, 100 * 366 * 86400)
    for status in statuses:
        if status not in FINISHED:
            ends = ", ".join(FINISHED)
            raise InvalidJob("statuses", f"{status!r} is no end state ({ends}); live jobs are never pruned.")
    jobs = manager.get_queryset().using(manager.write_alias)
    return jobs.filter(status__in=list(statuses), finished_at__lte=Now(-seconds) if seconds else Now())

"""completed | failed -> gone. What is in doubt, or running, stays."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import connections, transaction
from django.db.models.functions import Coalesce

from django_jobqueue.jobs import limits
from django_jobqueue.jobs.dependents import Pruned, delete_with_dependents, has_dependents
from django_jobqueue.vendors import Now, retry_transient

if TYPE_CHECKING:
    from django_jobqueue.ledger.manager import ExecutionManager

BATCH = 500


def prune(
    manager: ExecutionManager,
    *,
    older_than: float,
    begun_before: datetime | None = None,
    batch_size: int = BATCH,
) -> Pruned:
    """Delete entries that ended more than ``older_than`` seconds ago; returns how many.

    Their effects run again when they are asked for. Entries begun at or after ``begun_before`` stay: give the
    creation of the oldest job that may still run, and no job meets an empty ledger. Works in small steps
    beside busy workers. What the project's rows protect stays, and is counted as ``kept`` on the answer.
    """
    limits.check_integer("batch_size", batch_size, 1, 10_000)
    alias = manager.write_alias
    prunable = _prunable(manager, older_than, begun_before)
    last, deleted, kept = "", 0, 0
    while listed := list(
        prunable.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:batch_size]
    ):
        last = listed[-1]
        # The guard once more: what was taken over since it was listed stays.
        chosen = prunable.filter(pk__in=listed)
        delete = _delete if has_dependents(manager.model) else _delete_alone
        pruned = retry_transient(connections[alias], partial(delete, chosen))
        deleted += pruned
        kept += pruned.kept
    return Pruned(deleted, kept)


def _delete_alone(entries: Any) -> Pruned:
    return Pruned(entries._raw_delete(entries.db))


def _delete(entries: Any) -> Pruned:
    skip_locked = connections[entries.db].features.has_select_for_update_skip_locked
    with transaction.atomic(using=entries.db):
        ids = list(entries.select_for_update(skip_locked=skip_locked).values_list("pk", flat=True))
        rows = entries.model._default_manager.using(entries.db).defer("result")
        deleted = delete_with_dependents(rows, ids)
    return Pruned(deleted, len(ids) - deleted)


def count_prunable(
    manager: ExecutionManager, *, older_than: float, begun_before: datetime | None = None
) -> int:
    """How many entries ``prune`` with the same arguments would delete now."""
    count: int = _prunable(manager, older_than, begun_before).count()
    return count


def _prunable(manager: ExecutionManager, older_than: float, begun_before: datetime | None) -> Any:
    seconds = limits.check_seconds("older_than", older_than, 0, 100 * 366 * 86400)
    ended = manager.using(manager.write_alias).alias(ended_at=Coalesce("completed_at", "created_at"))
    entries = ended.filter(
        status__in=["completed", "failed"], ended_at__lte=Now(-seconds) if seconds else Now()
    )
    return entries if begun_before is None else entries.filter(created_at__lt=begun_before)

"""running -> completed for what is done, and pending -> running for what comes next: a worker's hot path."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.db import connections

from django_jobqueue.jobs.pending.take import Wanted, take
from django_jobqueue.jobs.queryset import table_of
from django_jobqueue.jobs.running.complete import delete_unkept, kept_first
from django_jobqueue.vendors import Claim, HeldClaim, retry_transient, vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager

COLUMNS = (
    "id",
    "type",
    "payload",
    "queue",
    "priority",
    "retry_count",
    "max_retries",
    "fencing_token",
    "idempotency_key",
    "meta",
    "created_at",
    "quarantined",
)
"""What ``exchange`` returns of a row; payload and meta as JSON text, the time as the driver gives it."""


def _order(row: tuple[Any, ...]) -> tuple[int, int]:
    return -row[4], row[0]


def exchange(
    manager: JobManager,
    done: Iterable[HeldClaim],
    claim: Claim,
    wanted: Wanted,
) -> tuple[set[int], list[tuple[Any, ...]]]:
    """Complete the claims that are done, each with its result as JSON text, and claim what is wanted.

    A claim whose row another transaction has locked is passed over, see ``complete_claims``; only on PostgreSQL,
    with one queue, it is waited for. From one queue it is one transaction, on PostgreSQL also one round trip.
    Returns the ids that were completed and the claimed rows (``COLUMNS``), highest priority first, then oldest
    first.
    """
    connection = connections[manager.write_alias]
    vendor = vendor_for(connection)
    table = table_of(manager.model)
    held, unkept = kept_first(manager, sorted(done))  # the one order of locking rows
    queues = wanted.named()
    if queues is not None and len(queues) == 1 and wanted.types is None:
        completed, rows = retry_transient(
            connection,
            lambda: vendor.exchange(
                connection,
                table,
                held,
                claim,
                queue=queues[0],
                limit=wanted.limit,
                columns=COLUMNS,
                after=wanted.after,
            ),
        )
    else:
        completed = (
            retry_transient(connection, lambda: vendor.complete(connection, table, held, skip_locked=True))
            if held
            else {}
        )
        rows = take(manager, claim, wanted, columns=COLUMNS)
    delete_unkept(manager, unkept.intersection(completed))
    return set(completed), sorted(rows, key=_order)

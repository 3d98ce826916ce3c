"""The INSERT of jobs that most databases share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db.backends.base.base import BaseDatabaseWrapper

from django_jobqueue.vendors.rows import NewRow, Table

if TYPE_CHECKING:
    from django_jobqueue.vendors.base import Vendor


def insert_sql(
    vendor: Vendor, connection: BaseDatabaseWrapper, table: Table, rows: Sequence[NewRow]
) -> tuple[str, list[Any]]:
    """The statement that inserts ``rows``, up to what follows its values, and its parameters."""
    now = vendor.now
    due = f"COALESCE({vendor.instant}, {vendor.now_plus})"
    constant = f"0, 0, '', '', '', {now}, {now}"
    common = f"%s, {vendor.json}, %s, %s, %s, %s, %s, {vendor.json}, {constant}"
    at_once = f"({common}, 'pending', {now})"
    timed = f"({common}, CASE WHEN {due} > {now} THEN 'scheduled' ELSE 'pending' END, {due})"
    values, params = [], []
    for row in rows:
        params += [
            row.type,
            row.payload,
            row.queue,
            row.priority,
            row.max_retries,
            row.idempotency_key,
            row.enqueued_by,
            row.meta,
        ]
        if row.run_at is None and not row.delay:
            values.append(at_once)
            continue
        values.append(timed)
        run_at = row.run_at and connection.ops.adapt_datetimefield_value(row.run_at)
        params += [run_at, round(row.delay, 3)] * 2
    columns = (
        "type, payload, queue, priority, max_retries, idempotency_key, enqueued_by, meta, "
        "retry_count, fencing_token, worker_id, claimed_by, error, created_at, updated_at, status, run_at"
    )
    return f"INSERT INTO {vendor.quote(connection, table)} ({columns}) VALUES {', '.join(values)}", params

"""Many rows in few statements, to see how a large table is read."""

from __future__ import annotations

from django.core.management.color import no_style
from django.db import connection

from django_jobqueue.models import Job, JobAttempt
from django_jobqueue.vendors import vendor_for

COLUMNS = (
    "type, payload, queue, priority, status, run_at, retry_count, max_retries, claimed_at, worker_id, claimed_by, "
    "enqueued_by, fencing_token, lease_expires_at, error, meta, created_at, updated_at, finished_at"
)


def add_rows(count: int, status: str, *, lease: float = 60, run_in: float = 0) -> None:
    """Insert ``count`` (a multiple of 10) jobs in ``status``, over the queues ``queue-0`` to ``queue-4``."""
    vendor = vendor_for(connection)
    now, claimed = vendor.now, status in ("running", "completed", "failed")
    time_of = {
        "run_at": f"{vendor.now_plus}",
        "claimed_at": now if claimed else "NULL",
        "lease": vendor.now_plus if status == "running" else "NULL",
        "finished": now if status in ("completed", "failed", "cancelled") else "NULL",
    }
    queue = "CASE n %% 5 " + " ".join(f"WHEN {n} THEN 'queue-{n}'" for n in range(5)) + " END"
    sql = (
        f"INSERT INTO {Job._meta.db_table} ({COLUMNS}) "
        f"WITH RECURSIVE ten (a) AS (SELECT 0 UNION ALL SELECT a + 1 FROM ten WHERE a < 9), "
        f"tenth (b) AS (SELECT 0 UNION ALL SELECT b + 1 FROM tenth WHERE b < %s), "
        f"numbers (n) AS (SELECT a + b * 10 FROM ten, tenth) "
        f"SELECT 'test.noop', '{{}}', {queue}, n %% 3, '{status}', {time_of['run_at']}, 0, 3, "
        f"{time_of['claimed_at']}, '{'worker-1' if claimed else ''}', '', '', {int(claimed)}, {time_of['lease']}, '', '{{}}', {now}, {now}, "
        f"{time_of['finished']} FROM numbers"
    )
    if connection.vendor == "postgresql":
        sql = sql.replace("'{}'", "'{}'::jsonb")
    params = [count // 10 - 1, run_in, *([lease] if status == "running" else [])]
    with connection.cursor() as cursor:
        if getattr(connection, "mysql_is_mariadb", False):
            cursor.execute("SET max_recursive_iterations = 1000000")
        cursor.execute(sql, params)


def analyze() -> None:
    """Let the planner know the table as it is."""
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {'TABLE ' if connection.vendor == 'mysql' else ''}{Job._meta.db_table}")


def remove_rows() -> None:
    """Empty the table, quickly."""
    tables = [model._meta.db_table for model in (JobAttempt, Job)]
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables, allow_cascade=True))
    analyze()

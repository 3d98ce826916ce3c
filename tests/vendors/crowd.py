"""Many rows in few statements, to see how a large table is read."""

from __future__ import annotations

from django.core.management.color import no_style
from django.db import connection

from django_jobqueue.models import Job, JobAttempt
from django_jobqueue.vendors import vendor_for


def add_rows(count: int, status: str, *, lease: float = 60, run_in: float = 0) -> None:
    """Insert ``count`` (a multiple of 10) jobs in ``status``, over the queues ``queue-0`` to ``queue-4``."""
    vendor = vendor_for(connection)
    claimed = status in ("running", "completed", "failed")
    finished = status in ("completed", "failed", "cancelled")
    values = {
        "type": "'test.noop'",
        "payload": vendor.json % "'{}'",
        "queue": "CASE n %% 5 " + " ".join(f"WHEN {n} THEN 'queue-{n}'" for n in range(5)) + " END",
        "priority": "n %% 3",
        "status": f"'{status}'",
        "run_at": vendor.now_plus,
        "retry_count": "0",
        "max_retries": "3",
        "claimed_at": vendor.now if claimed else "NULL",
        "worker_id": "'worker-1'" if claimed else "''",
        "claimed_by": "''",
        "enqueued_by": "''",
        "fencing_token": "1" if claimed else "0",
        "lease_expires_at": vendor.now_plus if status == "running" else "NULL",
        "error": "''",
        "meta": vendor.json % "'{}'",
        "created_at": vendor.now,
        "updated_at": vendor.now,
        "finished_at": vendor.now if finished else "NULL",
    }
    sql = (
        f"INSERT INTO {Job._meta.db_table} ({', '.join(values)}) WITH RECURSIVE "
        "ten (a) AS (SELECT 0 UNION ALL SELECT a + 1 FROM ten WHERE a < 9), "
        "tenth (b) AS (SELECT 0 UNION ALL SELECT b + 1 FROM tenth WHERE b < %s), "
        "numbers (n) AS (SELECT a + b * 10 FROM ten, tenth) "
        f"SELECT {', '.join(values.values())} FROM numbers"
    )
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

"""PostgreSQL behind a pooler that gives each transaction to another session, and knows no prepared statements."""

from __future__ import annotations

from typing import Any

from django_jobqueue.conf import settings

_ADVICE = "set JOBQUEUE['PREPARED_STATEMENTS'] to False"


def hint(error: Exception) -> str:
    """What helps against ``error`` where a pooler is to blame; else nothing."""
    if "prepared statement" not in str(error):
        return ""
    return f". Behind a pooler that does not track prepared statements (PgBouncer before 1.21), {_ADVICE}"


def is_pooled(connection: Any) -> bool:
    """Whether it is not the server that answered when this connection was made: it would have told its own id."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return bool(cursor.fetchone()[0] != connection.connection.info.backend_pid)


def problems(connection: Any) -> list[tuple[str, str]]:
    """What a check says of a pooler while statements are prepared."""
    if not settings().PREPARED_STATEMENTS or not is_pooled(connection):
        return []
    where = "Where that does not track prepared statements (PgBouncer before 1.21)"
    return [("warning", f"it is behind a pooler. {where}, {_ADVICE}.")]

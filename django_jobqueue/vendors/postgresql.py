"""PostgreSQL: row locks that are skipped, RETURNING, one statement for everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.db.backends.base.base import BaseDatabaseWrapper

from django_jobqueue.vendors.base import HeldClaim, Row, Table, Vendor

_TRANSIENT = {"40001", "40P01", "55P03"}  # serialization failure, deadlock, lock not available


class PostgreSQL(Vendor):
    now = "statement_timestamp()"
    now_plus = "(statement_timestamp() + %s * interval '1 second')"
    instant = "%s::timestamptz"
    json = "%s::jsonb"

    def problems(self, connection: Any) -> list[tuple[str, str]]:
        if connection.Database.__name__ != "psycopg":
            return [("error", "the driver must be psycopg 3 (pip install 'django-jobqueue[postgres]').")]
        with connection.cursor() as cursor:
            cursor.execute("SHOW default_transaction_isolation")
            level = cursor.fetchone()[0]
        if chosen := connection.connection.isolation_level:
            level = chosen.name.replace("_", " ").lower()
        if level == "read committed":
            return []
        return [
            (
                "warning",
                f"transactions run at {level}: claims and keyed enqueues will meet serialization failures. "
                "Use read committed for the jobs' database.",
            )
        ]

    def is_transient(self, error: DatabaseError) -> bool:
        return getattr(error.__cause__, "sqlstate", None) in _TRANSIENT

    def in_transaction(self, connection: BaseDatabaseWrapper) -> bool:
        if connection.connection.closed:
            raise InterfaceError("the connection is closed")
        return connection.connection.info.transaction_status.name in ("ACTIVE", "INTRANS", "INERROR")

    def exact_collation(self, connection: BaseDatabaseWrapper) -> str | None:
        return None

    def update_chosen(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        *,
        index: str,
        choice: str,
        choice_params: Sequence[Any],
        assignments: str,
        params: Sequence[Any],
        returning: bool,
    ) -> list[Row]:
        # = ANY(ARRAY(...)), not IN (...): a sub-select that the planner runs again takes too many rows.
        name = self.quote(connection, table)
        return self._rows(
            connection,
            f"UPDATE {name} SET {assignments} WHERE id = ANY(ARRAY("
            f"SELECT id FROM {name} WHERE {choice} FOR NO KEY UPDATE SKIP LOCKED)) "
            f"RETURNING {', '.join(table.columns) if returning else 'id'}",
            [*params, *choice_params],
        )

    def update_claims(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        claims: Sequence[HeldClaim],
        *,
        assignments: str,
        params: Sequence[Any],
    ) -> dict[int, bool]:
        # The status is compared as an expression: matching it to the partial index of running rows would make
        # the planner, which believes that few rows run, visit each of them for each claim.
        name = self.quote(connection, table)
        updated = self._rows(
            connection,
            f"UPDATE {name} AS job SET {assignments.format(value='held.value::jsonb')} "
            "FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS held (id, fencing_token, value) "
            "WHERE job.id = held.id AND job.fencing_token = held.fencing_token "
            "AND job.status || '' = 'running' RETURNING job.id, job.cancel_requested_at IS NOT NULL",
            [
                *params,
                [claim.id for claim in claims],
                [claim.fencing_token for claim in claims],
                [claim.value for claim in claims],
            ],
        )
        return dict(updated)

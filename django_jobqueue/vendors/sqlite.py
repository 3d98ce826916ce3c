"""SQLite: one writer at a time, so one UPDATE that chooses inside itself needs no row locks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper

from django_jobqueue.vendors.base import Vendor
from django_jobqueue.vendors.rows import HeldClaim, Row, Table

_TRANSIENT = {5, 6}  # SQLITE_BUSY, SQLITE_LOCKED
_REFUSALS = {14, 26}  # SQLITE_CANTOPEN, SQLITE_NOTADB


class SQLite(Vendor):
    now = "strftime('%%Y-%%m-%%d %%H:%%M:%%f000', 'now')"
    now_plus = "strftime('%%Y-%%m-%%d %%H:%%M:%%f000', 'now', %s || ' seconds')"

    def problems(self, connection: Any) -> list[tuple[str, str]]:
        found = []
        if connection.Database.sqlite_version_info < (3, 35):
            found.append(
                ("error", f"SQLite {connection.Database.sqlite_version} is too old; 3.35 brought RETURNING.")
            )
        mode = connection.settings_dict.get("OPTIONS", {}).get("transaction_mode") or ""
        if mode.upper() != "IMMEDIATE":
            found.append(
                (
                    "error",
                    "transactions must take the write lock when they begin, or busy ones end in 'database is "
                    'locked\'. Set "OPTIONS": {"transaction_mode": "IMMEDIATE"}.',
                )
            )
        found += self._time_zone_problems(connection)
        if not connection.is_in_memory_db():
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA journal_mode")
                journal = cursor.fetchone()[0]
            if journal.lower() != "wal":
                found.append(
                    (
                        "warning",
                        f"journal_mode is {journal}: readers and the writer block each other. "
                        'Set "OPTIONS": {"init_command": "PRAGMA journal_mode=WAL"}.',
                    )
                )
        return found

    def is_transient(self, error: DatabaseError) -> bool:
        code = getattr(error.__cause__, "sqlite_errorcode", 0)
        return code & 0xFF in _TRANSIENT  # the low byte; what is above says more exactly why

    def is_refusal(self, error: DatabaseError) -> bool:
        code = getattr(error.__cause__, "sqlite_errorcode", 0)
        return code & 0xFF in _REFUSALS

    def in_transaction(self, connection: BaseDatabaseWrapper) -> bool:
        return bool(connection.connection.in_transaction)

    def change_marker(self, connection: BaseDatabaseWrapper) -> int | None:
        return int(self._rows(connection, "PRAGMA data_version", [])[0][0])

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
        returning: Sequence[str],
        sure: bool = False,
    ) -> list[Row]:
        name = self.quote(connection, table)
        chosen = f"SELECT id FROM {name} WHERE {choice}"
        # A look first: an UPDATE that finds nothing would still queue for the one write lock. A transaction has
        # that lock already.
        if not (sure or connection.in_atomic_block) and not self._rows(connection, chosen, choice_params):
            return []
        return self._rows(
            connection,
            f"UPDATE {name} SET {assignments} WHERE id IN ({chosen}) RETURNING {', '.join(returning)}",
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
        skip_locked: bool = False,
    ) -> dict[int, bool]:
        name = self.quote(connection, table)
        held = json.dumps([[claim.id, claim.fencing_token, claim.value] for claim in claims])
        value = "json_extract(held.value, '$[2]')"
        # The plus signs keep the planner from starting at the index of running rows.
        updated = self._rows(
            connection,
            f"UPDATE {name} SET {assignments.format(value=value)} FROM json_each(%s) AS held "
            f"WHERE {name}.id = json_extract(held.value, '$[0]') "
            f"AND +{name}.fencing_token = json_extract(held.value, '$[1]') AND +{name}.status = 'running' "
            f"RETURNING {name}.id, {name}.cancel_requested_at",
            [*params, held],
        )
        # The bare column: SQLite 3.40 answers true to IS NOT NULL on a null column in RETURNING.
        return {id: cancel is not None for id, cancel in updated}

    def delete_claims(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        claims: Sequence[HeldClaim],
        *,
        skip_locked: bool = False,
    ) -> list[int]:
        held = json.dumps([[claim.id, claim.fencing_token] for claim in claims])
        deleted = self._rows(
            connection,
            f"DELETE FROM {self.quote(connection, table)} WHERE (id, +fencing_token) IN "
            "(SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(%s)) "
            "AND +status = 'running' RETURNING id",
            [held],
        )
        return [row[0] for row in deleted]

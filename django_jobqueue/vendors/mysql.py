"""MariaDB and MySQL: choose under row locks that are skipped, then update by primary key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import DatabaseError, IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from django_jobqueue.vendors.base import Vendor
from django_jobqueue.vendors.rows import Claim, HeldClaim, NewRow, Row, Table
from django_jobqueue.vendors.waits import CONNECT_TIMEOUT

_DUPLICATE = 1062
_TRANSIENT = {1205, 1213, 1020}  # lock wait, deadlock, changed since last read (MariaDB's snapshot check)

_REFUSALS = {
    1044,
    1045,
    1049,
    1698,
}  # no access to the database, wrong login, no such database, login by socket only


def _number(error: DatabaseError) -> int | None:
    return error.args[0] if error.args and isinstance(error.args[0], int) else None


def _marks(values: Sequence[Any]) -> str:
    return ", ".join(["%s"] * len(values))


class MySQL(Vendor):
    now = "UTC_TIMESTAMP(6)"
    now_plus = "DATE_ADD(UTC_TIMESTAMP(6), INTERVAL %s SECOND)"
    returns_updated_rows = False

    def problems(self, connection: Any) -> list[tuple[str, str]]:
        found = []
        if not connection.features.has_select_for_update_skip_locked:
            found.append(("error", "SKIP LOCKED is missing; use MariaDB 10.8 or MySQL 8 or later."))
        if not connection.features.supports_index_column_ordering:
            found.append(("error", "descending indexes are missing; use MariaDB 10.8 or MySQL 8 or later."))
        level = connection.isolation_level
        if level != "read committed":
            found.append(
                (
                    "warning",
                    f"transactions run at {level or 'the server default'}: claims lock gaps and block "
                    'enqueues. Set "OPTIONS": {"isolation_level": "read committed"}.',
                )
            )
        found += self._time_zone_problems(connection)
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@character_set_database")
            charset = cursor.fetchone()[0]
        if charset != "utf8mb4":
            found.append(("error", f"the database's character set is {charset}; it must be utf8mb4."))
        return found

    def is_transient(self, error: DatabaseError) -> bool:
        return _number(error) in _TRANSIENT

    def is_refusal(self, error: DatabaseError) -> bool:
        return _number(error) in _REFUSALS

    def bound_waits(self, options: dict[str, Any]) -> dict[str, Any]:
        waits = dict.fromkeys(("read_timeout", "write_timeout"), self.answer_timeout)
        return {"connect_timeout": CONNECT_TIMEOUT, **waits, **options}

    def bound_idle_transactions(self, connection: Any, seconds: float) -> None:
        if connection.mysql_is_mariadb:  # MySQL has no such limit
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION idle_transaction_timeout = %s", [max(1, round(seconds))])

    def in_transaction(self, connection: Any) -> bool:
        if connection.mysql_is_mariadb:
            return bool(self._rows(connection, "SELECT @@in_transaction", [])[0][0])
        connection.connection.rollback()  # MySQL does not tell, so nothing is left to ask about
        return False

    def exact_collation(self, connection: Any) -> str | None:
        # utf8mb4_bin pads: it takes "a" and "a " for the same key.
        return "utf8mb4_nopad_bin" if connection.mysql_is_mariadb else "utf8mb4_0900_bin"

    def json_parameters(self, connection: Any) -> dict[str, Any]:
        # MariaDB's JSON is a text with a check, and the check refuses 32 levels.
        if connection.mysql_is_mariadb:
            return {"type": "longtext", "check": None, "collation": "utf8mb4_bin"}
        return {}

    def claim(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        claim: Claim,
        *,
        queue: str,
        limit: int,
        columns: Sequence[str],
        types: Sequence[str] | None = None,
        sure: bool = False,
    ) -> list[Row]:
        if types is None:
            return super().claim(connection, table, claim, queue=queue, limit=limit, columns=columns)
        # InnoDB locks a row before it looks at what the index does not tell, and keeps that lock, so that other
        # claimers would skip all rows of other types. Hence rows are found without locks and locked one by one.
        wanted = self._claim(table, claim, queue=queue, limit=limit, types=types)
        choice, choice_params, index = wanted.pop("choice"), wanted.pop("choice_params"), wanted.pop("index")
        name = self.quote(connection, table)
        passed_over = [0]
        with transaction.atomic(using=connection.alias):
            while found := self._rows(
                connection,
                f"SELECT id FROM {name} FORCE INDEX ({index}) "
                f"WHERE id NOT IN ({_marks(passed_over)}) AND {choice}",
                [*passed_over, *choice_params],
            ):
                ids = [id for (id,) in found]
                rows = self.update_chosen(
                    connection,
                    table,
                    index="PRIMARY",
                    choice=f"id IN ({_marks(ids)}) AND status = 'pending'",
                    choice_params=ids,
                    **wanted,
                    returning=columns,
                )
                if rows:
                    return rows
                passed_over += ids
        return []

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
        with transaction.atomic(using=connection.alias):
            chosen = self._rows(
                connection,
                f"SELECT id FROM {name} FORCE INDEX ({index}) WHERE {choice} FOR UPDATE SKIP LOCKED",
                choice_params,
            )
            if not chosen:
                return []
            ids = [row[0] for row in chosen]
            with connection.cursor() as cursor:
                cursor.execute(
                    f"UPDATE {name} SET {assignments} WHERE id IN ({_marks(ids)})", [*params, *ids]
                )
            if list(returning) == ["id"]:
                return chosen
            return self._rows(
                connection, f"SELECT {', '.join(returning)} FROM {name} WHERE id IN ({_marks(ids)})", ids
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
        by_fence = {(claim.id, claim.fencing_token): claim for claim in claims}
        with transaction.atomic(using=connection.alias):
            current: dict[int, bool] = {}
            groups: dict[str | None, list[int]] = {}
            for id, token, cancel in self._lock_running(connection, table, claims, skip_locked):
                if claim := by_fence.get((id, token)):
                    current[id] = bool(cancel)
                    groups.setdefault(claim.value, []).append(id)
            with connection.cursor() as cursor:
                for value, group in groups.items():
                    own = [value] if "{value}" in assignments else []
                    cursor.execute(
                        f"UPDATE {name} SET {assignments.format(value='%s')} WHERE id IN ({_marks(group)})",
                        [*own, *params, *group],
                    )
        return current

    def _lock_running(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        claims: Sequence[HeldClaim],
        skip_locked: bool,
    ) -> list[Row]:
        # A handler's transaction may hold its own job's row: a foreign key to it takes a shared lock.
        skip = " SKIP LOCKED" if skip_locked else ""
        ids = sorted({claim.id for claim in claims})
        return self._rows(
            connection,
            "SELECT id, fencing_token, cancel_requested_at IS NOT NULL "
            f"FROM {self.quote(connection, table)} FORCE INDEX (PRIMARY) "
            f"WHERE id IN ({_marks(ids)}) AND status = 'running' ORDER BY id FOR UPDATE{skip}",
            ids,
        )

    def delete_claims(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        claims: Sequence[HeldClaim],
        *,
        skip_locked: bool = False,
    ) -> list[int]:
        fences = {(claim.id, claim.fencing_token) for claim in claims}
        with transaction.atomic(using=connection.alias):
            locked = self._lock_running(connection, table, claims, skip_locked)
            ids = [id for id, token, _ in locked if (id, token) in fences]
            if ids:
                with connection.cursor() as cursor:
                    cursor.execute(
                        f"DELETE FROM {self.quote(connection, table)} WHERE id IN ({_marks(ids)})", ids
                    )
        return ids

    def insert(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        rows: Sequence[NewRow],
        *,
        columns: Sequence[str],
    ) -> list[Row]:
        # INSERT IGNORE would swallow other errors too, so a taken key is found, dropped, and the rest is sent
        # again. A failed statement changes nothing in InnoDB, inside a transaction as well.
        rows = list(rows)
        while rows:
            sql, params = self._insert_sql(connection, table, rows)
            try:
                return self._insert(connection, table, sql, params, len(rows), ", ".join(columns))
            except IntegrityError as error:
                if _number(error) != _DUPLICATE or "idempotency_key" not in str(error):
                    raise
            keys = [row.idempotency_key for row in rows if row.idempotency_key is not None]
            taken = self._rows(
                connection,
                f"SELECT idempotency_key FROM {self.quote(connection, table)} "
                f"WHERE idempotency_key IN ({_marks(keys)}) LOCK IN SHARE MODE",
                keys,
            )
            rows = [row for row in rows if (row.idempotency_key,) not in set(taken)]
        return []

    def _insert(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        sql: str,
        params: Sequence[Any],
        count: int,
        columns: str,
    ) -> list[Row]:
        if connection.features.can_return_columns_from_insert:
            return sorted(
                self._rows(connection, f"{sql} RETURNING {columns}", params), key=lambda row: row[0]
            )
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            first = cursor.lastrowid  # of the first row; a simple insert gets consecutive ids
        step = "@@SESSION.auto_increment_increment"
        return self._rows(
            connection,
            f"SELECT {columns} FROM {self.quote(connection, table)} "
            f"WHERE id BETWEEN %s AND %s + %s * {step} AND MOD(id - %s, {step}) = 0 ORDER BY id",
            [first, first, count - 1, first],
        )

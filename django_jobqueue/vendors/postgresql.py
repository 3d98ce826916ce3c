"""PostgreSQL: row locks that are skipped, RETURNING, one statement for everything."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Sequence
from operator import itemgetter
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from django_jobqueue.conf import settings
from django_jobqueue.vendors import poolers
from django_jobqueue.vendors.base import Vendor
from django_jobqueue.vendors.rows import Claim, HeldClaim, NewRow, Row, Table
from django_jobqueue.vendors.waits import CONNECT_TIMEOUT

try:
    import psycopg
    from psycopg.types.string import TextLoader
except ImportError:  # without the driver there is no connection that could get here
    psycopg = None  # type: ignore[assignment]

_AUTOVACUUM = {
    "autovacuum_vacuum_scale_factor": 0.01,
    "autovacuum_vacuum_threshold": 1000,
    "autovacuum_vacuum_insert_scale_factor": 0.05,
    "autovacuum_analyze_scale_factor": 0.02,
    "autovacuum_analyze_threshold": 1000,
    "autovacuum_vacuum_cost_delay": 0,
}
# A server that was demoted (or is a copy) takes no writes; a transaction that was idle for too long is gone with
# its connection. To the driver these are internal errors.
_AWAY = {"25006", "25P03"}
# Half-open lines: the first question is asked after 15 s, and 20 s without an answer end the connection.
_WAITS = {
    "connect_timeout": CONNECT_TIMEOUT,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 20_000,
}
_CASTS = {"priority": "int", "max_retries": "int", "run_at": "timestamptz", "delay": "float8"}
_NEVER_BY_ITSELF = 1_000_000_000  # statements are prepared where that is asked for, and only there
_TRANSIENT = {"40001", "40P01", "55P03"}  # serialization failure, deadlock, lock not available

_REFUSAL = re.compile(
    "does not exist|authentication failed|no pg_hba.conf entry|not permitted to log in|permission denied for database"
)


def _fences(claims: Sequence[HeldClaim]) -> list[Any]:
    """Ids and tokens as the texts of two arrays: quicker to make than lists are to adapt."""
    ids = ",".join([str(claim.id) for claim in claims])
    tokens = ",".join([str(claim.fencing_token) for claim in claims])
    return [f"{{{ids}}}", f"{{{tokens}}}"]


def _leave_instants(cursor: Any) -> None:
    """Give times as texts, for ``load_instant``: Django's own loader takes longer than all else of a row."""
    cursor.adapters.register_loader("timestamptz", TextLoader)


def _give_up_late(steps: Any, driver: Any, seconds: float) -> Generator[Any, Any, Any]:
    """What psycopg waits for, step by step (``steps`` is its generator); closes ``driver`` when it takes too long."""
    end = time.monotonic() + seconds
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > end:
                driver.pgconn.finish()
                raise psycopg.OperationalError(f"no answer from the server for {seconds:g} s")
            wanted = steps.send(ready)
    except StopIteration as done:
        return done.value


class PostgreSQL(Vendor):
    now = "statement_timestamp()"
    now_plus = "(statement_timestamp() + %s * interval '1 second')"
    instant = "%s::timestamptz"
    json = "%s::jsonb"
    rows_a_statement = 10_000
    notifies = True

    def problems(self, connection: Any) -> list[tuple[str, str]]:
        if connection.Database.__name__ != "psycopg":
            return [("error", "the driver must be psycopg 3 (pip install 'psycopg[binary]').")]
        with connection.cursor() as cursor:
            cursor.execute("SHOW default_transaction_isolation")
            level = cursor.fetchone()[0]
        if chosen := connection.connection.isolation_level:
            level = chosen.name.replace("_", " ").lower()
        found = poolers.problems(connection)
        if level == "read committed":
            return found
        return [
            *found,
            (
                "warning",
                f"transactions run at {level}: claims and keyed enqueues will meet serialization failures. "
                "Use read committed for the jobs' database.",
            ),
        ]

    def is_away(self, error: Exception) -> bool:
        return super().is_away(error) or getattr(error.__cause__, "sqlstate", None) in _AWAY

    def is_transient(self, error: DatabaseError) -> bool:
        return getattr(error.__cause__, "sqlstate", None) in _TRANSIENT

    def is_refusal(self, error: DatabaseError) -> bool:
        # The driver hands no SQLSTATE on while it connects, only the server's words.
        return "FATAL" in str(error) and _REFUSAL.search(str(error)) is not None

    def tune_table(self, schema_editor: BaseDatabaseSchemaEditor, table: str) -> None:
        # Each job leaves two dead rows, at the heads of the indexes that claims read. The defaults would let a
        # fifth of the table die first. No fillfactor: every update changes a column that an index is about, so
        # none could stay on its page (HOT) anyway.
        options = ", ".join(f"{name} = {value}" for name, value in _AUTOVACUUM.items())
        schema_editor.execute(f"ALTER TABLE {schema_editor.quote_name(table)} SET ({options})")

    def notify(self, connection: BaseDatabaseWrapper, channel: str, message: str) -> None:
        self._rows(connection, "SELECT pg_notify(%s, %s)", [channel, message])

    def listen(self, connection: BaseDatabaseWrapper, channel: str) -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"LISTEN {connection.ops.quote_name(channel)}")
        driver = connection.connection
        # What a statement's own reading comes across goes here; a busy worker may not ask for long.
        heard: set[str] = set()
        driver.add_notify_handler(lambda notify: heard.add(notify.payload))
        driver.jobqueue_heard = heard
        return int(driver.fileno())

    def heard(self, connection: BaseDatabaseWrapper) -> set[str]:
        driver = connection.connection
        with connection.wrap_database_errors:
            driver.pgconn.consume_input()
        messages: set[str] = set(driver.jobqueue_heard)
        driver.jobqueue_heard.clear()
        while (notify := driver.pgconn.notifies()) is not None:
            messages.add(notify.extra.decode())
        return messages

    def bound_waits(self, options: dict[str, Any]) -> dict[str, Any]:
        bound = {**_WAITS, **options}
        bound.pop("pool", None)  # its connections are made for others, with what these want
        return bound

    def bound_answers(self, connection: BaseDatabaseWrapper) -> None:
        driver = connection.connection
        wait = driver.wait

        def wait_bounded(steps: Any, *args: Any, **kwargs: Any) -> Any:
            return wait(_give_up_late(steps, driver, self.answer_timeout), *args, **kwargs)

        driver.wait = wait_bounded

    def bound_idle_transactions(self, connection: BaseDatabaseWrapper, seconds: float) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET idle_in_transaction_session_timeout = {round(seconds * 1000)}")

    def in_transaction(self, connection: BaseDatabaseWrapper) -> bool:
        if connection.connection.closed:
            raise InterfaceError("the connection is closed")
        return connection.connection.info.transaction_status.name in ("ACTIVE", "INTRANS", "INERROR")

    def exact_collation(self, connection: BaseDatabaseWrapper) -> str | None:
        return "C"  # a database's own collation may be a language's, which orders and pads by other rules

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
        sql, values = self._chosen(connection, table, choice, choice_params, assignments, params, returning)
        return self._rows(connection, sql, values)

    def _chosen(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        choice: str,
        choice_params: Sequence[Any],
        assignments: str,
        params: Sequence[Any],
        returning: Sequence[str],
    ) -> tuple[str, list[Any]]:
        # = ANY(ARRAY(...)), not IN (...): a sub-select that the planner runs again takes too many rows.
        name = self.quote(connection, table)
        sql = (
            f"UPDATE {name} SET {assignments} WHERE id = ANY(ARRAY("
            f"SELECT id FROM {name} WHERE {choice} FOR NO KEY UPDATE SKIP LOCKED)) "
            f"RETURNING {', '.join(returning)}"
        )
        return sql, [*params, *choice_params]

    def _chosen_after(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        after: tuple[int, int],
        queue: str,
        limit: int,
        wanted: dict[str, Any],
        returning: Sequence[str],
    ) -> tuple[str, list[Any]]:
        # Two ranges of the claim index, neither of which touches what was claimed before.
        name = self.quote(connection, table)
        pending = f"SELECT id FROM {name} WHERE status = 'pending' AND queue = %s AND"
        lock = "FOR NO KEY UPDATE SKIP LOCKED"
        sql = (
            f"WITH higher AS MATERIALIZED ({pending} priority > %s ORDER BY priority DESC, id LIMIT %s {lock}), "
            f"behind AS MATERIALIZED ({pending} priority = %s AND id > %s ORDER BY id "
            f"LIMIT %s - (SELECT count(*) FROM higher) {lock}) "
            f"UPDATE {name} SET {wanted['assignments']} "
            "WHERE id = ANY(ARRAY(SELECT id FROM higher UNION ALL SELECT id FROM behind)) "
            f"RETURNING {', '.join(returning)}"
        )
        priority, last = after
        ranges = [queue, priority, limit, queue, priority, last, limit]
        return sql, [*ranges, *wanted["params"]]

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
        sql, values = self._claims(connection, table, claims, assignments, params, skip_locked=skip_locked)
        return dict(self._rows(connection, sql, values))

    def _claims(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        claims: Sequence[HeldClaim],
        assignments: str,
        params: Sequence[Any],
        *,
        skip_locked: bool = False,
    ) -> tuple[str, list[Any]]:
        # The status is compared as an expression: matching it to the partial index of running rows would make
        # the planner, which believes that few rows run, visit each of them for each claim.
        name = self.quote(connection, table)
        arrays: list[Any] = _fences(claims)
        held, value = "unnest(%s::bigint[], %s::bigint[]) AS held (id, fencing_token)", "NULL"
        if any(claim.value is not None for claim in claims):
            held = "unnest(%s::bigint[], %s::bigint[], %s::text[]) AS held (id, fencing_token, value)"
            value = "held.value::jsonb"
            arrays.append([claim.value for claim in claims])
        unlocked = ""
        if skip_locked:
            # The rows are read again by the update, at which the lock is this transaction's own.
            unlocked = (
                f" AND job.id = ANY(ARRAY(SELECT id FROM {name} WHERE id = ANY(%s::bigint[]) "
                "ORDER BY id FOR NO KEY UPDATE SKIP LOCKED))"
            )
            arrays.append([claim.id for claim in claims])
        sql = (
            f"UPDATE {name} AS job SET {assignments.format(value=value)} FROM {held} "
            "WHERE job.id = held.id AND job.fencing_token = held.fencing_token "
            f"AND job.status || '' = 'running'{unlocked} RETURNING job.id, job.cancel_requested_at IS NOT NULL"
        )
        return sql, [*params, *arrays]

    def delete_claims(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        claims: Sequence[HeldClaim],
        *,
        skip_locked: bool = False,
    ) -> list[int]:
        sql, values = self._deletion(connection, table, claims)
        if skip_locked:
            name = self.quote(connection, table)
            sql = sql.replace(
                " RETURNING",
                f" AND job.id = ANY(ARRAY(SELECT id FROM {name} WHERE id = ANY(%s::bigint[]) "
                "ORDER BY id FOR UPDATE SKIP LOCKED)) RETURNING",
            )
            values.append([claim.id for claim in claims])
        return [row[0] for row in self._rows(connection, sql, values)]

    def _deletion(
        self, connection: BaseDatabaseWrapper, table: Table, claims: Sequence[HeldClaim]
    ) -> tuple[str, list[Any]]:
        return (
            f"DELETE FROM {self.quote(connection, table)} AS job "
            "USING unnest(%s::bigint[], %s::bigint[]) AS held (id, fencing_token) "
            "WHERE job.id = held.id AND job.fencing_token = held.fencing_token "
            "AND job.status || '' = 'running' RETURNING job.id"
        ), _fences(claims)

    def insert(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        rows: Sequence[NewRow],
        *,
        columns: Sequence[str],
    ) -> list[Row]:
        if len(rows) == 1:
            return super().insert(connection, table, rows, columns=columns)
        # One array a column instead of ten parameters a row. A column that is the same in all rows is one
        # parameter; the payloads are one JSON array, so that no text is quoted and parsed twice.
        exprs: dict[str, str] = {}
        scalars: dict[str, Any] = {}
        arrays: dict[str, tuple[str, Any]] = {}
        for name, values in zip(NewRow._fields, zip(*rows, strict=True), strict=True):
            cast = _CASTS.get(name, "text")
            exprs[name] = f"new.{name}"
            if name == "payload":
                arrays[name] = ("jsonb_array_elements(%s::jsonb)", f"[{','.join(values)}]")
            elif values.count(values[0]) == len(values):
                exprs[name], scalars[name] = f"%s::{cast}", values[0]
            else:
                arrays[name] = (f"unnest(%s::{cast}[])", list(values))
        due = f"COALESCE({exprs.pop('run_at')}, {self.now} + {exprs.pop('delay')} * interval '1 second')"
        due_params = [scalars.pop(name) for name in ("run_at", "delay") if name in scalars]
        exprs["meta"] += "::jsonb"
        sql = (
            f"INSERT INTO {self.quote(connection, table)} ({', '.join(exprs)}, retry_count, fencing_token, "
            "worker_id, claimed_by, error, created_at, updated_at, run_at, status) "
            f"SELECT {', '.join(exprs.values())}, 0, 0, '', '', '', {self.now}, {self.now}, "
            f"due.at, CASE WHEN due.at > {self.now} THEN 'scheduled' ELSE 'pending' END "
            f"FROM ROWS FROM ({', '.join(function for function, _ in arrays.values())}) "
            f"WITH ORDINALITY AS new ({', '.join(arrays)}, number) CROSS JOIN LATERAL (SELECT {due}) AS due (at) "
            f"ORDER BY new.number{self._skip_taken(rows)} RETURNING {', '.join(columns)}"
        )
        array_params = [value for _, value in arrays.values()]
        inserted = self._rows(connection, sql, [*scalars.values(), *array_params, *due_params])
        return sorted(inserted, key=itemgetter(0))

    def exchange(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        done: Sequence[HeldClaim],
        claim: Claim,
        *,
        queue: str,
        limit: int,
        columns: Sequence[str],
        after: tuple[int, int] | None = None,
    ) -> tuple[dict[int, bool], list[Row]]:
        # Both statements go in one round trip and, since a pipeline is one transaction, one commit. They are
        # prepared on the server, past Django's cursor, which binds on the client and has each planned anew.
        if connection.in_atomic_block:
            return super().exchange(connection, table, done, claim, queue=queue, limit=limit, columns=columns)
        connection.ensure_connection()
        driver = connection.connection
        if driver.prepare_threshold is None:
            driver.prepare_threshold = _NEVER_BY_ITSELF
        prepare = settings().PREPARED_STATEMENTS
        wanted = self._claim(table, claim, queue=queue, limit=limit)
        wanted.pop("index")
        completed, deleted, claimed = (psycopg.Cursor(driver) for _ in range(3))
        _leave_instants(claimed)
        kept = [held for held in done if held.keep]
        gone = [held for held in done if not held.keep]
        # Fetched behind the pipeline, whose end commits: nothing may wait while the claimed rows are locked.
        with connection.wrap_database_errors:
            with driver.pipeline():
                if kept:
                    statement = self._claims(connection, table, kept, self._completion, [])
                    completed.execute(*statement, prepare=prepare)
                if gone:
                    deleted.execute(*self._deletion(connection, table, gone), prepare=prepare)
                chosen = self._chosen(connection, table, **wanted, returning=columns)
                if after is not None:
                    chosen = self._chosen_after(connection, table, after, queue, limit, wanted, columns)
                claimed.execute(*chosen, prepare=prepare)
            ended = dict(completed.fetchall()) if kept else {}
            ended.update(dict.fromkeys((id for (id,) in deleted.fetchall()), False) if gone else {})
            return ended, claimed.fetchall()

    def _rows(self, connection: BaseDatabaseWrapper, sql: str, params: Sequence[Any]) -> list[Any]:
        with connection.cursor() as cursor:
            _leave_instants(cursor)  # what wraps the driver's cursor passes this on
            cursor.execute(sql, params)
            return list(cursor.fetchall())

"""The contract that every database fulfils, and the SQL that they share.

A vendor knows tables, rows and locks; it does not know ``Job``. Statements name statuses as literals, so that
a planner can match them to the partial indexes.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, ClassVar

from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from django_jobqueue.vendors.insertion import insert_sql
from django_jobqueue.vendors.rows import Claim, HeldClaim, NewRow, Row, Table
from django_jobqueue.vendors.waits import Waits

_QUEUES_A_STATEMENT = 100  # a database may refuse to unite more than 500 selects

_QUEUES_WITH_PENDING = """
WITH RECURSIVE queues (queue) AS (
  SELECT min(queue) FROM {table} WHERE status = 'pending'
  UNION ALL
  SELECT (SELECT min(later.queue) FROM {table} later
          WHERE later.status = 'pending' AND later.queue > queues.queue)
  FROM queues WHERE queues.queue IS NOT NULL
)"""


def _chunks(queues: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(queues), _QUEUES_A_STATEMENT):
        yield queues[start : start + _QUEUES_A_STATEMENT]


class Vendor(Waits, ABC):
    """One database. All methods take the connection to use and run in its current transaction, if any."""

    now: ClassVar[str]
    """SQL of the clock, in UTC."""
    now_plus: ClassVar[str]
    """SQL of the clock, a parameter of seconds ahead."""
    instant: ClassVar[str] = "%s"
    """Placeholder of a point in time."""
    json: ClassVar[str] = "%s"
    """Placeholder of a JSON text."""
    returns_updated_rows: ClassVar[bool] = True
    """Whether UPDATE has RETURNING."""
    rows_a_statement: ClassVar[int] = 1000
    """How many rows one ``insert`` takes."""
    notifies: ClassVar[bool] = False
    """Whether connections can tell each other something (``notify``, ``listen``, ``heard``)."""

    @abstractmethod
    def problems(self, connection: BaseDatabaseWrapper) -> list[tuple[str, str]]:
        """What makes this database unfit, as ("error" or "warning", sentence) pairs."""

    def is_away(self, error: Exception) -> bool:
        """Whether ``error`` says that this connection leads to no database that can be written to, for now."""
        return isinstance(error, OperationalError | InterfaceError)

    @abstractmethod
    def is_transient(self, error: DatabaseError) -> bool:
        """Whether the same transaction may succeed when it is repeated (a deadlock, a lock wait)."""

    @abstractmethod
    def is_refusal(self, error: DatabaseError) -> bool:
        """Whether a connection was refused in a way that waiting does not mend: no such database, a wrong login."""

    @abstractmethod
    def exact_collation(self, connection: BaseDatabaseWrapper) -> str | None:
        """The collation that compares character by character; ``None`` where that is the default."""

    def json_parameters(self, connection: BaseDatabaseWrapper) -> dict[str, Any]:
        """What a column of JSON needs other than Django's own ``db_parameters``."""
        return {}

    @abstractmethod
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
        """Lock the rows that ``choice`` (WHERE to LIMIT) selects, skipping what others hold, and update them.

        Returns the columns ``returning`` of these rows, in no order. The caller is ``sure`` that there are some
        when it has just seen them: a look that would spare a lock for nothing is then not needed.
        """

    @abstractmethod
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
        """Update the rows whose claim is current; ``{value}`` in ``assignments`` is the claim's own value.

        Returns the ids that were updated, each with whether a cancel is requested. A claim that is missing
        from the answer is lost or, with ``skip_locked``, its row may be locked by another transaction. Rows are
        reached by primary key only.
        """

    def notify(self, connection: BaseDatabaseWrapper, channel: str, message: str) -> None:
        """Tell everybody who listens on ``channel`` now; who does not is told nothing later."""
        raise NotImplementedError

    def listen(self, connection: BaseDatabaseWrapper, channel: str) -> int:
        """Listen on ``channel``; a file descriptor that is readable when there may be something to hear."""
        raise NotImplementedError

    def heard(self, connection: BaseDatabaseWrapper) -> set[str]:
        """The different messages that arrived since the last call; never waits."""
        raise NotImplementedError

    def change_marker(self, connection: BaseDatabaseWrapper) -> int | None:
        """A number that changes when another connection commits a change; ``None`` where nothing tells that."""
        return None

    @abstractmethod
    def in_transaction(self, connection: BaseDatabaseWrapper) -> bool:
        """Whether a transaction is open on the driver's connection, whoever began it.

        Raises whatever the driver raises when the connection is dead.
        """

    @abstractmethod
    def delete_claims(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        claims: Sequence[HeldClaim],
        *,
        skip_locked: bool = False,
    ) -> list[int]:
        """Delete the rows whose claim is current, by primary key; returns their ids."""

    def tune_table(self, schema_editor: BaseDatabaseSchemaEditor, table: str) -> None:
        """Set what keeps the jobs' table quick where rows change several times in a short life."""

    def load_instant(self, value: Any) -> datetime | None:
        """A time as the driver gave it (a text, naive in UTC, or aware), as an aware ``datetime``."""
        loaded: datetime | None = datetime.fromisoformat(value) if isinstance(value, str) else value
        if loaded is None or loaded.tzinfo is UTC:
            return loaded
        return loaded.astimezone(UTC) if loaded.tzinfo else loaded.replace(tzinfo=UTC)

    def load_json(self, value: Any) -> Any:
        """A JSON value as the driver gave it, as Python."""
        return None if value is None else json.loads(value)

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
        """Take up to ``limit`` pending rows from the head of one queue. ``sure`` as in ``update_chosen``."""
        return self.update_chosen(
            connection,
            table,
            **self._claim(table, claim, queue=queue, limit=limit, types=types),
            returning=columns,
            sure=sure,
        )

    def _claim(
        self, table: Table, claim: Claim, *, queue: str, limit: int, types: Sequence[str] | None = None
    ) -> dict[str, Any]:
        only = f"AND type IN ({', '.join(['%s'] * len(types))}) " if types is not None else ""
        return {
            "index": table.claim_index,
            "choice": f"status = 'pending' AND queue = %s {only}ORDER BY priority DESC, id LIMIT %s",
            "choice_params": [queue, *(types or ()), limit],
            "assignments": (
                "status = 'running', worker_id = %s, claimed_by = %s, fencing_token = fencing_token + 1, "
                f"claimed_at = {self.now}, updated_at = {self.now}, lease_expires_at = {self.now_plus}"
            ),
            "params": [claim.worker_id, claim.claimed_by, claim.lease_seconds],
        }

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
        """``complete`` what is done and not locked, and ``claim`` from one queue, in one transaction.

        ``after`` allows to pass over what is not behind this (priority, id) nor of a higher priority.
        """
        with transaction.atomic(using=connection.alias):
            completed = self.complete(connection, table, done, skip_locked=True) if done else {}
            return completed, self.claim(connection, table, claim, queue=queue, limit=limit, columns=columns)

    def promote(self, connection: BaseDatabaseWrapper, table: Table, *, limit: int) -> int:
        """Move up to ``limit`` due scheduled rows to pending, the longest due first; returns how many."""
        return len(
            self.update_chosen(
                connection,
                table,
                index=table.due_index,
                choice=f"status = 'scheduled' AND run_at <= {self.now} ORDER BY run_at LIMIT %s",
                choice_params=[limit],
                assignments=f"status = 'pending', updated_at = {self.now}",
                params=[],
                returning=["id"],
            )
        )

    def heads(
        self, connection: BaseDatabaseWrapper, table: Table, queues: Sequence[str] | None
    ) -> list[tuple[str, int, int]]:
        """The head (queue, priority, id) of each of ``queues`` (or all) with pending rows; locks nothing."""
        if queues is not None and len(queues) > _QUEUES_A_STATEMENT:
            return [head for some in _chunks(queues) for head in self.heads(connection, table, some)]
        name = self.quote(connection, table)
        if queues is None:
            source, params = _QUEUES_WITH_PENDING.format(table=name), []
        else:
            listed = " UNION ALL ".join(["SELECT %s AS queue"] * len(queues))
            source, params = f"WITH queues AS ({listed})", list(queues)
        head = (
            f"(SELECT h.id FROM {name} h WHERE h.status = 'pending' AND h.queue = queues.queue "
            "ORDER BY h.priority DESC, h.id LIMIT 1)"
        )
        return self._rows(
            connection,
            f"{source} SELECT j.queue, j.priority, j.id FROM queues JOIN {name} j ON j.id = {head}",
            params,
        )

    def peek(
        self, connection: BaseDatabaseWrapper, table: Table, queues: Sequence[str], *, limit: int
    ) -> list[tuple[str, int, int]]:
        """The first ``limit`` (queue, priority, id) of each of ``queues``; locks nothing."""
        one = (
            f"SELECT * FROM (SELECT queue, priority, id FROM {self.quote(connection, table)} "
            "WHERE status = 'pending' AND queue = %s ORDER BY priority DESC, id LIMIT %s) peeked"
        )
        peeked: list[tuple[str, int, int]] = []
        for some in _chunks(queues):
            params = [value for queue in some for value in (queue, limit)]
            peeked += self._rows(connection, " UNION ALL ".join([one] * len(some)), params)
        return peeked

    def count_waiting(self, connection: BaseDatabaseWrapper, table: Table, *, queue: str, limit: int) -> int:
        """How many rows of ``queue`` are pending or scheduled; of each kind no more than ``limit`` are counted."""
        waiting = "SELECT count(*) FROM (SELECT 1 FROM {} WHERE status = '{}' AND queue = %s LIMIT %s) {}"
        name = self.quote(connection, table)
        counts = [waiting.format(name, status, status) for status in ("pending", "scheduled")]
        rows = self._rows(connection, f"SELECT ({counts[0]}) + ({counts[1]})", [queue, limit] * 2)
        return int(rows[0][0])

    def complete(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        claims: Sequence[HeldClaim],
        *,
        skip_locked: bool = False,
    ) -> dict[int, bool]:
        """Running -> completed for every current claim; ``value`` is the result. See ``update_claims``.

        The rows of claims that are not to be kept are deleted instead.
        """
        kept = [claim for claim in claims if claim.keep]
        gone = [claim for claim in claims if not claim.keep]
        ended: dict[int, bool] = {}
        if kept:
            ended = self.update_claims(
                connection,
                table,
                kept,
                assignments=self._completion,
                params=[],
                skip_locked=skip_locked,
            )
        if gone:
            deleted = self.delete_claims(connection, table, gone, skip_locked=skip_locked)
            ended.update(dict.fromkeys(deleted, False))
        return ended

    @property
    def _completion(self) -> str:
        return (
            "status = 'completed', result = {value}, error = '', lease_expires_at = NULL, "
            f"finished_at = {self.now}, updated_at = {self.now}"
        )

    def renew(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        claims: Sequence[HeldClaim],
        *,
        lease_seconds: float,
        skip_locked: bool = False,
    ) -> dict[int, bool]:
        """Extend the lease of every claim that is current. See ``update_claims``."""
        return self.update_claims(
            connection,
            table,
            claims,
            assignments=f"lease_expires_at = {self.now_plus}, updated_at = {self.now}",
            params=[lease_seconds],
            skip_locked=skip_locked,
        )

    def insert(
        self,
        connection: BaseDatabaseWrapper,
        table: Table,
        rows: Sequence[NewRow],
        *,
        columns: Sequence[str],
    ) -> list[Row]:
        """Insert the rows whose key is free, in one statement; a taken key is passed over, nothing else is.

        Returns ``columns`` (``id`` is the first) of what was inserted, in the order of ``rows``.
        """
        sql, params = self._insert_sql(connection, table, rows)
        inserted = self._rows(
            connection, f"{sql}{self._skip_taken(rows)} RETURNING {', '.join(columns)}", params
        )
        return sorted(inserted, key=itemgetter(0))  # rows get their ids in the order in which they are given

    def _skip_taken(self, rows: Sequence[NewRow]) -> str:
        keyed = any(row.idempotency_key is not None for row in rows)
        return " ON CONFLICT (idempotency_key) DO NOTHING" if keyed else ""

    def quote(self, connection: BaseDatabaseWrapper, table: Table) -> str:
        """The table's name, quoted."""
        return connection.ops.quote_name(table.name)

    def _insert_sql(
        self, connection: BaseDatabaseWrapper, table: Table, rows: Sequence[NewRow]
    ) -> tuple[str, list[Any]]:
        return insert_sql(self, connection, table, rows)

    def _time_zone_problems(self, connection: BaseDatabaseWrapper) -> list[tuple[str, str]]:
        """Where a time is stored without its zone, all must be stored in that of ``now``."""
        zone = connection.settings_dict.get("TIME_ZONE")
        if zone in (None, "UTC"):
            return []
        return [("error", f'its TIME_ZONE is {zone}; times of jobs are in UTC. Remove "TIME_ZONE".')]

    def _rows(self, connection: BaseDatabaseWrapper, sql: str, params: Sequence[Any]) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            return list(cursor.fetchall())

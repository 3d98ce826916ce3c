"""A database server without Django: databases of a benchmark's own, and the raw limits of the driver.

The raw loops are the yardstick of every rate: the same two statements, claim and complete, that any queue in a
database needs at least, on a table of twelve columns with one index, by one connection in one thread.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

PAYLOAD = '{"args": [1], "kwargs": {}}'


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is; empty or 0 is the driver's own default."""

    host: str
    port: int
    user: str
    password: str
    database: str


class Server(ABC):
    """One server. Connections are the driver's own, in autocommit mode."""

    create_table: ClassVar[Sequence[str]]
    """The raw table ``raw_job``, dropped and made anew."""
    add_rows: ClassVar[str]
    """Adds as many pending rows as its one parameter says."""
    add_row: ClassVar[str]
    """Adds one row; the parameter is its payload."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def own_name(self, name: str, folder: Path) -> str:
        """What a database ``name`` of a benchmark is called here; ``folder`` is for files."""
        return name

    @abstractmethod
    def connect(self, database: str) -> Any:
        """A connection of the driver."""

    @abstractmethod
    def create(self, database: str) -> None:
        """Make an empty database, in place of an old one of the same name."""

    @abstractmethod
    def drop(self, database: str) -> None:
        """Drop a database, whoever is connected to it."""

    @abstractmethod
    def url(self, database: str) -> str:
        """The ``DATABASE_URL`` of a database."""

    @abstractmethod
    def describe(self, database: str) -> dict[str, str]:
        """``title``, version and the settings that durability and speed hang on."""

    @abstractmethod
    def vacuum(self, connection: Any, table: str) -> None:
        """Tidy up after a bulk load, as the server would do by itself some time later."""

    @abstractmethod
    def count_connections(self, database: str) -> int | None:
        """Connections to a database, but the one that asks; ``None`` where there is no server to ask."""

    @abstractmethod
    def hold_snapshot(self, connection: Any) -> None:
        """Begin a transaction that sees, until it ends, what is there now."""

    @abstractmethod
    def _claim(self, cursor: Any, limit: int) -> list[int]:
        """Claim up to ``limit`` rows of the raw table and commit."""

    @abstractmethod
    def _complete(self, cursor: Any, ids: list[int]) -> None:
        """Complete rows and commit."""

    def _insert(self, cursor: Any) -> None:
        """Add one row and commit."""
        cursor.execute(self.add_row, [PAYLOAD])

    @abstractmethod
    def _insert_many(self, cursor: Any, count: int) -> None:
        """Add ``count`` rows in the fastest form that is not a file load, and commit."""

    def raw_claims(self, database: str, *, batch: int, seconds: float, rows: int = 60_000) -> float:
        """Jobs a second: claim ``batch``, complete ``batch``, in turn."""
        connection, cursor = self._raw_table(database, rows)
        done, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            ids = self._claim(cursor, batch)
            if not ids:
                break
            self._complete(cursor, ids)
            done += len(ids)
        connection.close()
        return done / elapsed

    def raw_inserts(self, database: str, *, seconds: float) -> float:
        """Rows a second, each with its own commit."""
        connection, cursor = self._raw_table(database, 0)
        done, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            self._insert(cursor)
            done += 1
        connection.close()
        return done / elapsed

    def raw_bulk(self, database: str, *, rows: int) -> float:
        """Rows a second, ``rows`` at once."""
        connection, cursor = self._raw_table(database, 0)
        start = time.perf_counter()
        self._insert_many(cursor, rows)
        elapsed = time.perf_counter() - start
        connection.close()
        return rows / elapsed

    def raw_pickups(self, database: str, *, samples: int) -> list[float]:
        """Seconds from before the insert of a row to the claim of it, by a second connection, many times."""
        connection, sender = self._raw_table(database, 0)
        receiver = self._receiver(database)
        seconds = []
        for _ in range(samples):
            start = time.perf_counter()
            self._hand_over(sender, receiver)
            seconds.append(time.perf_counter() - start)
        receiver.connection.close()
        connection.close()
        return seconds

    def _receiver(self, database: str) -> Any:
        """A cursor of a connection of its own, which can be told of new rows where the server can tell."""
        return self.connect(database).cursor()

    def _hand_over(self, sender: Any, receiver: Any) -> None:
        """Add a row, tell of it where the server can, and claim it."""
        self._insert(sender)
        self._claim(receiver, 1)

    def _raw_table(self, database: str, rows: int) -> tuple[Any, Any]:
        connection = self.connect(database)
        cursor = connection.cursor()
        for statement in self.create_table:
            cursor.execute(statement)
        if rows:
            cursor.execute(self.add_rows, [rows])
            self.vacuum(connection, "raw_job")
        return connection, cursor

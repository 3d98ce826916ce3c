"""SQLite by the standard library: a file in WAL mode that is synced at every commit."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from benchmarks.harness.servers.base import PAYLOAD, Server


class SQLite(Server):
    create_table = (
        "DROP TABLE IF EXISTS raw_job",
        f"""CREATE TABLE raw_job (
          id integer PRIMARY KEY, state int NOT NULL DEFAULT 0, queue text DEFAULT 'default',
          priority int DEFAULT 0, run_at text DEFAULT current_timestamp, payload text DEFAULT '{PAYLOAD}',
          task text DEFAULT 'app.tasks.noop', worker text, attempts int DEFAULT 0,
          created_at text DEFAULT current_timestamp, started_at text, finished_at text)""",
        "CREATE INDEX raw_job_ready ON raw_job (priority, id) WHERE state = 0",
    )
    add_rows = (
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?) "
        "INSERT INTO raw_job (state) SELECT 0 FROM numbers"
    )
    add_row = "INSERT INTO raw_job (queue, priority, payload) VALUES ('default', 0, ?)"

    def own_name(self, name: str, folder: Path) -> str:
        return str(folder / f"{name}.sqlite3")

    def connect(self, database: str) -> sqlite3.Connection:
        connection = sqlite3.connect(database, timeout=20, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def create(self, database: str) -> None:
        self.drop(database)
        self.connect(database).close()

    def drop(self, database: str) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(database + suffix).unlink(missing_ok=True)

    def url(self, database: str) -> str:
        return f"sqlite:///{database}"

    def describe(self, database: str) -> dict[str, str]:
        return {
            "title": "SQLite",
            "version": sqlite3.sqlite_version,
            "journal_mode": "WAL",
            "synchronous": "FULL",
        }

    def vacuum(self, connection: sqlite3.Connection, table: str) -> None:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def count_connections(self, database: str) -> None:
        return None

    def hold_snapshot(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()

    def _claim(self, cursor: Any, limit: int) -> list[int]:
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute(
            "UPDATE raw_job SET state = 1, started_at = current_timestamp, attempts = attempts + 1, worker = 'w' "
            "WHERE id IN (SELECT id FROM raw_job WHERE state = 0 ORDER BY priority, id LIMIT ?) "
            "RETURNING id, task, payload",
            [limit],
        )
        ids = [row[0] for row in cursor.fetchall()]
        cursor.execute("COMMIT")
        return ids

    def _complete(self, cursor: Any, ids: list[int]) -> None:
        cursor.execute("BEGIN IMMEDIATE")
        cursor.executemany(
            "UPDATE raw_job SET state = 2, finished_at = current_timestamp WHERE id = ?",
            [(id,) for id in ids],
        )
        cursor.execute("COMMIT")

    def _insert_many(self, cursor: Any, count: int) -> None:
        cursor.execute("BEGIN IMMEDIATE")
        cursor.executemany(self.add_row, [(PAYLOAD,)] * count)
        cursor.execute("COMMIT")


SERVER = SQLite

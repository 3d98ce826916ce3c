"""PostgreSQL by psycopg 3."""

from __future__ import annotations

from typing import Any

import psycopg

from benchmarks.harness.servers.base import PAYLOAD, Server


class PostgreSQL(Server):
    create_table = (
        "DROP TABLE IF EXISTS raw_job",
        """CREATE TABLE raw_job (
          id bigserial PRIMARY KEY, state smallint NOT NULL DEFAULT 0, queue text NOT NULL DEFAULT 'default',
          priority int NOT NULL DEFAULT 0, run_at timestamptz NOT NULL DEFAULT now(), payload jsonb NOT NULL,
          task text NOT NULL DEFAULT 'app.tasks.noop', worker text, attempts int NOT NULL DEFAULT 0,
          created_at timestamptz NOT NULL DEFAULT now(), started_at timestamptz, finished_at timestamptz)""",
        "CREATE INDEX raw_job_ready ON raw_job (priority, id) WHERE state = 0",
    )
    add_rows = f"INSERT INTO raw_job (payload) SELECT '{PAYLOAD}' FROM generate_series(1, %s)"
    add_row = "INSERT INTO raw_job (queue, priority, payload) VALUES ('default', 0, %s) RETURNING id"

    def connect(self, database: str) -> psycopg.Connection[Any]:
        place = self.place
        return psycopg.connect(
            host=place.host or None,
            port=place.port or None,
            user=place.user or None,
            password=place.password or None,
            dbname=database,
            autocommit=True,
        )

    def create(self, database: str) -> None:
        self.drop(database)
        with self.connect(self.place.database or "postgres") as connection:
            connection.execute(f'CREATE DATABASE "{database}"'.encode())

    def drop(self, database: str) -> None:
        with self.connect(self.place.database or "postgres") as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)'.encode())

    def url(self, database: str) -> str:
        place = self.place
        password = f":{place.password}" if place.password else ""
        user = f"{place.user}{password}@" if place.user else ""
        port = f":{place.port}" if place.port else ""
        return f"postgresql://{user}{place.host}{port}/{database}"

    def describe(self, database: str) -> dict[str, str]:
        names = ("server_version", "fsync", "synchronous_commit", "shared_buffers", "max_wal_size")
        settings = {name: str(self._value(database, f"SHOW {name}".encode())) for name in names}
        return {"title": "PostgreSQL", **settings}

    def vacuum(self, connection: psycopg.Connection[Any], table: str) -> None:
        connection.execute(f'VACUUM ANALYZE "{table}"'.encode())

    def count_connections(self, database: str) -> int:
        sql = (
            "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"
        )
        return int(self._value(database, sql.encode(), [database]))

    def hold_snapshot(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT 1")  # the snapshot is taken by the first query

    def _value(self, database: str, sql: bytes, params: list[Any] | None = None) -> Any:
        with self.connect(database) as connection:
            row = connection.execute(sql, params).fetchone()
        assert row is not None
        return row[0]

    def _claim(self, cursor: Any, limit: int) -> list[int]:
        cursor.execute(
            "UPDATE raw_job SET state = 1, started_at = now(), attempts = attempts + 1, worker = 'w' "
            "WHERE id = ANY(ARRAY(SELECT id FROM raw_job WHERE state = 0 ORDER BY priority, id LIMIT %s "
            "FOR UPDATE SKIP LOCKED)) RETURNING id, task, payload",
            [limit],
        )
        return [row[0] for row in cursor.fetchall()]

    def _complete(self, cursor: Any, ids: list[int]) -> None:
        cursor.execute("UPDATE raw_job SET state = 2, finished_at = now() WHERE id = ANY(%s)", [ids])

    def _insert_many(self, cursor: Any, count: int) -> None:
        cursor.execute(
            "INSERT INTO raw_job (queue, priority, payload) "
            "SELECT 'default', 0, item::jsonb FROM unnest(%s::text[]) item",
            [[PAYLOAD] * count],
        )

    def _receiver(self, database: str) -> Any:
        cursor = super()._receiver(database)
        cursor.execute("LISTEN raw_job")
        return cursor

    def _hand_over(self, sender: Any, receiver: Any) -> None:
        self._insert(sender)
        sender.execute("NOTIFY raw_job")
        next(receiver.connection.notifies(timeout=5), None)
        self._claim(receiver, 1)


SERVER = PostgreSQL

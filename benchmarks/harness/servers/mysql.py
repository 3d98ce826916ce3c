"""MariaDB and MySQL by mysqlclient."""

from __future__ import annotations

from typing import Any

import MySQLdb

from benchmarks.harness.servers.base import PAYLOAD, Server

_DIGITS = "(" + " UNION ALL ".join(f"SELECT {digit} AS digit" for digit in range(10)) + ")"


class MySQL(Server):
    create_table = (
        "DROP TABLE IF EXISTS raw_job",
        """CREATE TABLE raw_job (
          id bigint AUTO_INCREMENT PRIMARY KEY, state smallint NOT NULL DEFAULT 0,
          queue varchar(100) NOT NULL DEFAULT 'default', priority int NOT NULL DEFAULT 0,
          run_at datetime(6) NOT NULL DEFAULT now(6), payload longtext, task varchar(200) DEFAULT 'app.tasks.noop',
          worker varchar(100), attempts int NOT NULL DEFAULT 0, created_at datetime(6) DEFAULT now(6),
          started_at datetime(6), finished_at datetime(6), KEY ready (state, priority, id)) ENGINE=InnoDB""",
    )
    add_rows = (
        f"INSERT INTO raw_job (payload) SELECT '{PAYLOAD}' FROM "
        + ", ".join(f"{_DIGITS} AS d{place}" for place in range(6))
        + " LIMIT %s"
    )
    add_row = "INSERT INTO raw_job (queue, priority, payload) VALUES ('default', 0, %s)"

    def connect(self, database: str) -> Any:
        place = self.place
        given = {
            "host": place.host,
            "port": place.port,
            "user": place.user,
            "password": place.password,
            "database": database,
        }
        return MySQLdb.connect(**{name: value for name, value in given.items() if value}, autocommit=True)

    def create(self, database: str) -> None:
        self.drop(database)
        self._run(f"CREATE DATABASE `{database}` CHARACTER SET utf8mb4")

    def drop(self, database: str) -> None:
        self._run(f"DROP DATABASE IF EXISTS `{database}`")

    def url(self, database: str) -> str:
        place = self.place
        password = f":{place.password}" if place.password else ""
        user = f"{place.user}{password}@" if place.user else ""
        port = f":{place.port}" if place.port else ""
        return f"mysql://{user}{place.host}{port}/{database}"

    def describe(self, database: str) -> dict[str, str]:
        names = ("version", "innodb_flush_log_at_trx_commit", "innodb_buffer_pool_size", "log_bin")
        settings = {name: str(self._run(f"SELECT @@{name}")[0][0]) for name in names}
        return {"title": "MariaDB" if "MariaDB" in settings["version"] else "MySQL", **settings}

    def vacuum(self, connection: Any, table: str) -> None:
        cursor = connection.cursor()
        cursor.execute(f"ANALYZE TABLE `{table}`")
        cursor.fetchall()

    def count_connections(self, database: str) -> int:
        sql = "SELECT count(*) FROM information_schema.processlist WHERE db = %s"
        return int(self._run(sql, [database])[0][0])

    def hold_snapshot(self, connection: Any) -> None:
        connection.cursor().execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")

    def _run(self, sql: str, params: list[Any] | None = None) -> Any:
        connection = self.connect(self.place.database or "mysql")
        cursor = connection.cursor()
        cursor.execute(sql, params)
        rows = cursor.fetchall()
        connection.close()
        return rows

    def _claim(self, cursor: Any, limit: int) -> list[int]:
        connection = cursor.connection
        connection.begin()
        cursor.execute(
            "SELECT id, task, payload FROM raw_job WHERE state = 0 ORDER BY priority, id LIMIT %s "
            "FOR UPDATE SKIP LOCKED",
            [limit],
        )
        ids = [row[0] for row in cursor.fetchall()]
        if ids:
            cursor.execute(
                "UPDATE raw_job SET state = 1, started_at = now(6), attempts = attempts + 1, worker = 'w' "
                "WHERE id IN %s",
                [ids],
            )
        connection.commit()
        return ids

    def _complete(self, cursor: Any, ids: list[int]) -> None:
        cursor.execute("UPDATE raw_job SET state = 2, finished_at = now(6) WHERE id IN %s", [ids])

    def _insert_many(self, cursor: Any, count: int) -> None:
        cursor.connection.begin()
        # The driver joins the rows into few statements if VALUES holds placeholders only.
        cursor.executemany("INSERT INTO raw_job (payload) VALUES (%s)", [[PAYLOAD]] * count)
        cursor.connection.commit()


SERVER = MySQL

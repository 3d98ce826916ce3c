"""steady-queue, a port of Solid Queue."""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.harness.processes import Command
from benchmarks.peers.peer import DjangoPeer

_NOT_CLONED = "attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attname <> 'id'"


class SteadyQueue(DjangoPeer):
    title = "steady-queue"
    setting = "3 threads, polling 0.1 s (defaults)"
    pause = (0.02, 0.14)
    grace = 6.0
    _task: Any = None

    def set_up(self) -> None:
        super().set_up()
        self._task = importlib.import_module("benchmarks.peers.handlers.djangotasks").noop
        models = importlib.import_module("django.apps").apps.get_app_config("steady_queue").get_models()
        tables = {model.__name__: model._meta.db_table for model in models}
        self._jobs = tables["Job"]
        self._ready = tables["ReadyExecution"]
        self._all = tables.values()
        self._count = (
            f"SELECT (SELECT count(*) FROM {self._ready}) + "
            f"(SELECT count(*) FROM {tables['ClaimedExecution']})"
        )

    def empty(self) -> None:
        self.sql(f"TRUNCATE {', '.join(self._all)} RESTART IDENTITY CASCADE")

    def unfinished(self) -> int | None:
        return int(self.sql(self._count))

    def enqueue(self) -> None:
        self._task.enqueue()

    def fill(self, count: int) -> None:
        """One by ``enqueue``, the others by SQL: 10,000 one by one take a quarter of a minute."""
        self.enqueue()
        columns = self._columns(self._jobs)
        self.sql(
            f"INSERT INTO {self._jobs} ({columns}) SELECT {columns} "
            f"FROM {self._jobs}, generate_series(2, {count})"
        )
        columns = self._columns(self._ready)
        values = columns.replace("job_id", "job.id").replace("queue_name", "one.queue_name")
        values = values.replace("priority", "one.priority").replace("created_at", "one.created_at")
        self.sql(
            f"INSERT INTO {self._ready} ({columns}) SELECT {values} FROM {self._ready} one, {self._jobs} job "
            "WHERE job.id <> one.job_id"
        )

    def _columns(self, table: str) -> str:
        return str(
            self.sql(
                "SELECT string_agg(attname, ', ') FROM pg_attribute "
                f"WHERE attrelid = '{table}'::regclass AND {_NOT_CLONED}"
            )
        )

    def workers(self, processes: int) -> list[Command]:
        return [self.manage("steady_queue", PEER_PROCESSES=str(processes))]

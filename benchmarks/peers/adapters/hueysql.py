"""huey on PostgreSQL by peewee; it deletes a job when it takes it, before the handler."""

from __future__ import annotations

from benchmarks.peers.adapters.huey import Huey


class HueySql(Huey):
    title = "huey on PostgreSQL"
    pause = (0.5, 2.5)  # the idle poll grows
    module = "benchmarks.peers.handlers.hueysql"

    def fill(self, count: int) -> None:
        with self.handlers.huey.storage.database.atomic():
            super().fill(count)

"""procrastinate, as a Django app."""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.harness.processes import Command
from benchmarks.peers.peer import DjangoPeer


class Procrastinate(DjangoPeer):
    title = "procrastinate"
    setting = "concurrency 20, async handler"
    can_enqueue_many = True
    count = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
    clear = ("TRUNCATE procrastinate_jobs, procrastinate_events RESTART IDENTITY CASCADE",)
    _task: Any = None

    def set_up(self) -> None:
        super().set_up()
        self._task = importlib.import_module("benchmarks.peers.handlers.procrastinate").noop

    def enqueue(self) -> None:
        self._task.defer()

    def enqueue_many(self, count: int) -> None:
        self._task.batch_defer(*[{}] * count)

    def workers(self, processes: int) -> list[Command]:
        return [self.manage("procrastinate", "worker", "--concurrency", "20")] * processes

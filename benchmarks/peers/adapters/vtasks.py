"""django-vtasks with its database backend."""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.harness.processes import Command
from benchmarks.peers.peer import DjangoPeer


class DjangoVtasks(DjangoPeer):
    title = "django-vtasks"
    history = "deleted"
    setting = "concurrency 20 (default), async handler"
    can_enqueue_many = True
    pause = (1.0, 3.0)  # the idle poll grows from 0.1 to 1 s
    count = "SELECT count(*) FROM db_queuedtask"
    clear = ("TRUNCATE db_queuedtask",)
    _task: Any = None

    def set_up(self) -> None:
        super().set_up()
        self._task = importlib.import_module("benchmarks.peers.handlers.vtasks").noop

    def enqueue(self) -> None:
        self._task.enqueue()

    def enqueue_many(self, count: int) -> None:
        tasks = importlib.import_module("django.tasks")
        tasks.task_backends["default"].enqueue_many([(self._task, (), {})] * count)

    def workers(self, processes: int) -> list[Command]:
        return [self.manage("runworker", "--concurrency", "20")] * processes

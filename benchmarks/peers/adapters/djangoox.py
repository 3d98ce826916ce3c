"""django-ox, a backend of ``django.tasks`` on the project's database."""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.harness.processes import Command
from benchmarks.peers.peer import DjangoPeer


class DjangoOx(DjangoPeer):
    title = "django-ox"
    setting = "8 threads, interval 1 s (default), persistent connections"
    can_enqueue_many = True
    pause = (0.02, 1.02)
    count = "SELECT count(*) FROM django_ox_oxtask WHERE status IN ('READY', 'RUNNING')"
    clear = ("TRUNCATE django_ox_oxtask CASCADE",)
    _task: Any = None
    _bulk: Any = None

    def set_up(self) -> None:
        super().set_up()
        self._task = importlib.import_module("benchmarks.peers.handlers.djangotasks").noop
        self._bulk = importlib.import_module("django_ox.bulk").enqueue_many

    def enqueue(self) -> None:
        self._task.enqueue()

    def enqueue_many(self, count: int) -> None:
        self._bulk(self._task, [((), {})] * count)

    def workers(self, processes: int) -> list[Command]:
        return [self.manage("ox_worker", "-v0", "--concurrency", "8", "--processes", str(processes))]

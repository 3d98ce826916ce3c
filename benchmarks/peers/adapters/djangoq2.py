"""django-q2 with its ORM broker; a cluster is guard, pusher, monitor and the workers."""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.harness.processes import Command
from benchmarks.peers.peer import DjangoPeer


class DjangoQ2(DjangoPeer):
    title = "django-q2"
    setting = "bulk 100, save_limit 0, poll 0.2 s"
    pause = (0.02, 0.25)
    count = "SELECT count(*) FROM django_q_ormq"
    clear = ("TRUNCATE django_q_ormq, django_q_task RESTART IDENTITY CASCADE",)
    _enqueue: Any = None

    def set_up(self) -> None:
        super().set_up()
        self._enqueue = importlib.import_module("django_q.tasks").async_task

    def enqueue(self) -> None:
        self._enqueue("benchmarks.peers.handlers.plain.noop")

    def workers(self, processes: int) -> list[Command]:
        return [self.manage("qcluster", PEER_PROCESSES=str(processes))]

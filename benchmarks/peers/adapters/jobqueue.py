"""This queue, by the same rules as its peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.apps import apps
from django.db import connection

from benchmarks.harness.processes import Command
from benchmarks.harness.workers import worker_command
from benchmarks.peers.peer import DjangoPeer


class JobQueue(DjangoPeer):
    title = "django_jobqueue"
    setting = "8 threads"
    can_enqueue_many = True
    settings_module = "benchmarks.settings"
    count = "SELECT count(*) FROM django_jobqueue_job WHERE status IN ('pending', 'running')"
    clear: ClassVar[Sequence[str]] = ("TRUNCATE django_jobqueue_job, django_jobqueue_jobattempt",)
    handlers: ClassVar[str] = "sync"

    @property
    def jobs(self) -> Any:
        return apps.get_model("django_jobqueue", "Job").objects

    def enqueue(self) -> None:
        self.jobs.enqueue("noop", {})

    def enqueue_many(self, count: int) -> None:
        self.jobs.enqueue_many([{"type": "noop"} for _ in range(count)])

    def workers(self, processes: int) -> list[Command]:
        return [worker_command(handlers=self.handlers, processes=processes)]


class JobQueueAsync(JobQueue):
    title = "django_jobqueue, async handler"
    setting = "100 async places"
    handlers = "async"


class _Polled(JobQueue):
    clear = ("DELETE FROM django_jobqueue_jobattempt", "DELETE FROM django_jobqueue_job")
    pause = (0.02, 1.02)


class JobQueueSqlite(_Polled):
    title = "django_jobqueue on SQLite"
    store = "sqlite"

    def tidy(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class JobQueueMysql(_Polled):
    title = "django_jobqueue on MariaDB"
    store = "mysql"

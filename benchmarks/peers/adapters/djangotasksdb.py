"""django-tasks-db, the reference backend of ``django.tasks`` on the project's database."""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.harness.processes import Command
from benchmarks.peers.peer import DjangoPeer

_TABLE = "django_tasks_database_dbtaskresult"


class DjangoTasksDb(DjangoPeer):
    title = "django-tasks-db"
    setting = "db_worker, interval 1 s (default)"
    pause = (0.02, 1.02)
    count = f"SELECT count(*) FROM {_TABLE} WHERE status IN ('READY', 'RUNNING')"
    clear = (f"DELETE FROM {_TABLE}",)
    _task: Any = None

    def set_up(self) -> None:
        super().set_up()
        self._task = importlib.import_module("benchmarks.peers.handlers.djangotasks").noop

    def enqueue(self) -> None:
        self._task.enqueue()

    def workers(self, processes: int) -> list[Command]:
        return [self.manage("db_worker", "-v0", "--no-startup-delay", "--interval", "1")] * processes


class DjangoTasksDbSqlite(DjangoTasksDb):
    title = "django-tasks-db on SQLite"
    store = "sqlite"


class DjangoTasksDbMysql(DjangoTasksDb):
    title = "django-tasks-db on MariaDB"
    store = "mysql"

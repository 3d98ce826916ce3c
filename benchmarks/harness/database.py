"""The database that a benchmark makes for itself, with the project's tables in it; gone when it ends."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, connections, transaction

from benchmarks.harness import counter
from benchmarks.harness.servers import Server, server_of

_DIGITS = "(" + " UNION ALL ".join(f"SELECT {digit} AS digit" for digit in range(10)) + ")"

FINISHED = {
    "status": "'completed'",
    "worker_id": "'w'",
    "fencing_token": "1",
    "claimed_at": "created_at",
    "finished_at": "created_at",
}
SCHEDULED = {"status": "'scheduled'", "run_at": "'2190-01-01 00:00:00'"}


class Database:
    """The jobs' database of this run."""

    def __init__(self, server: Server, name: str, folder: Path) -> None:
        self.server = server
        self.name = name
        self.folder = folder
        self.counter = counter.Counter(folder / "counter")

    @property
    def jobs(self) -> Any:
        """``Job.objects``."""
        return apps.get_model("django_jobqueue", "Job").objects

    @property
    def plain_rows(self) -> Any:
        """A model of the same table without any of the queue's code."""
        return apps.get_app_config("benchmarks").get_model("PlainJob")

    @property
    def table(self) -> str:
        """The jobs' table."""
        return str(self.jobs.model._meta.db_table)

    def empty(self) -> None:
        """Delete all jobs."""
        models = apps.get_app_config("django_jobqueue").get_models()
        tables = [model._meta.db_table for model in models]
        statements = connection.ops.sql_flush(no_style(), tables, reset_sequences=True)
        connection.ops.execute_sql_flush(statements)

    def fill(
        self,
        count: int,
        columns: dict[str, str] | None = None,
        *,
        type: str = "noop",
        payload: dict[str, Any] | None = None,
        queue: str = "default",
    ) -> None:
        """Add ``count`` jobs: one by ``enqueue``, cloned by SQL. ``columns`` are other values of theirs, as SQL."""
        quote = connection.ops.quote_name
        names = [
            field.column for field in self.jobs.model._meta.local_concrete_fields if not field.primary_key
        ]
        values = [(columns or {}).get(name, quote(name)) for name in names]
        numbers = ", ".join(f"{_DIGITS} AS d{place}" for place in range(len(str(count))))
        with transaction.atomic(), connection.cursor() as cursor:
            first = self.jobs.enqueue(type, payload or {}, queue=queue)
            cursor.execute(
                f"INSERT INTO {quote(self.table)} ({', '.join(map(quote, names))}) "
                f"SELECT {', '.join(values)} FROM {quote(self.table)} AS one, {numbers} "
                f"WHERE one.id = {first.pk} LIMIT {count}"
            )
            cursor.execute(f"DELETE FROM {quote(self.table)} WHERE id = {first.pk}")

    def vacuum(self) -> None:
        """Tidy up after a bulk load."""
        connection.ensure_connection()
        self.server.vacuum(connection.connection, self.table)

    def has_unfinished(self, queue: str = "default") -> bool:
        """Whether a job of ``queue`` waits, or any runs."""
        exists = f"EXISTS (SELECT 1 FROM {connection.ops.quote_name(self.table)} WHERE status = "
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {exists}'pending' AND queue = %s) OR {exists}'running')", [queue])
            return bool(cursor.fetchone()[0])

    def count(self, status: str) -> int:
        """How many jobs are in a status."""
        return int(self.jobs.filter(status=status).count())


@contextmanager
def own_database(vendor: str, *, settings: str = "benchmarks.settings") -> Iterator[Database]:
    """Make a database, set Django up on it, and drop it at the end, also after SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    server = server_of(vendor)
    with tempfile.TemporaryDirectory(prefix="jobqueue-benchmark-") as path:
        folder = Path(path)
        name = server.own_name(f"jobqueue_benchmark_{os.getpid()}", folder)
        os.environ["DATABASE_URL"] = server.url(name)
        os.environ["DJANGO_SETTINGS_MODULE"] = settings
        os.environ[counter.VARIABLE] = str(folder / "counter")
        server.create(name)
        try:
            django.setup()
            call_command("migrate", verbosity=0)
            yield Database(server, name, folder)
        finally:
            connections.close_all()
            server.drop(name)

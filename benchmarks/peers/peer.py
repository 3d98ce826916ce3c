"""What a peer must do to be measured."""

from __future__ import annotations

import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from benchmarks.harness.processes import Command
from benchmarks.harness.servers import server_of


class Peer(ABC):
    """One queue at one setting. Its handlers call ``counter.note`` and do nothing else."""

    title: ClassVar[str]
    store: ClassVar[str] = "postgresql"
    """What it keeps its jobs in: a vendor of ``benchmarks.harness.servers``, or ``redis``."""
    history: ClassVar[str] = "kept"
    """What becomes of finished jobs: ``kept`` or ``deleted``."""
    setting: ClassVar[str] = ""
    """How its worker is set, in words."""
    pause: ClassVar[tuple[float, float]] = (0.01, 0.04)
    """Seconds between two samples of latency; for a poller, up to its whole interval."""
    grace: ClassVar[float] = 3.0
    """Seconds that its worker gets to end."""
    can_enqueue_many: ClassVar[bool] = True

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def set_up(self) -> None:
        """Make its tables; ``DATABASE_URL`` is an empty database of its own."""

    @abstractmethod
    def empty(self) -> None:
        """Delete all jobs."""

    @abstractmethod
    def unfinished(self) -> int | None:
        """How many jobs are not finished; ``None`` if it cannot say."""

    @abstractmethod
    def enqueue(self) -> None:
        """Enqueue a no-op job."""

    def enqueue_many(self, count: int) -> None:
        """Enqueue ``count`` no-op jobs in its own bulk form."""
        raise NotImplementedError

    @abstractmethod
    def workers(self, processes: int) -> list[Command]:
        """What to start for ``processes`` worker processes."""

    def fill(self, count: int) -> None:
        """Have ``count`` jobs queued, by whatever way is quick."""
        if self.can_enqueue_many:
            self.enqueue_many(count)
        else:
            self.seconds_for(count)

    def seconds_for(self, count: int) -> float:
        """How long it takes to enqueue ``count`` jobs one by one."""
        start = time.perf_counter()
        for _ in range(count):
            self.enqueue()
        return time.perf_counter() - start

    def tidy(self) -> None:
        """What the database would do by itself some time after ``fill``."""
        return

    def close(self) -> None:
        """End what ``set_up`` has started."""
        return


class SQLPeer(Peer):
    """A peer with tables: ``count`` is the SQL of its unfinished jobs, ``clear`` that of deleting all."""

    count: ClassVar[str]
    clear: ClassVar[Sequence[str]]
    _connection: Any = None

    def sql(self, statement: str) -> Any:
        """Run a statement; the first value of its answer."""
        if self._connection is None:
            self._connection = server_of(self.store).connect(os.environ["PEER_DATABASE"])
        cursor = self._connection.cursor()
        cursor.execute(statement)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None

    def empty(self) -> None:
        for statement in self.clear:
            self.sql(statement)

    def unfinished(self) -> int | None:
        return int(self.sql(self.count))

    def tidy(self) -> None:
        if self.store == "postgresql":
            self.sql("VACUUM ANALYZE")


class DjangoPeer(SQLPeer):
    """A Django app; its workers are management commands."""

    can_enqueue_many = False
    settings_module: ClassVar[str] = "benchmarks.peers.settings"

    def set_up(self) -> None:
        from django.core.management import call_command

        call_command("migrate", verbosity=0)

    def manage(self, *arguments: str, **environ: str) -> Command:
        """A management command as a process."""
        return Command([sys.executable, "-m", "django", *arguments], environ)

    def fill(self, count: int) -> None:
        from django.db import transaction

        with transaction.atomic():
            super().fill(count)

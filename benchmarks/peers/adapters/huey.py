"""What the three storages of huey share."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.harness.processes import Command
from benchmarks.peers.peer import Peer


class Huey(Peer):
    history = "deleted"
    can_enqueue_many = False
    setting = "1 thread, results off"
    module: ClassVar[str]
    handlers: Any = None

    def set_up(self) -> None:
        self.handlers = importlib.import_module(self.module)

    def empty(self) -> None:
        self.handlers.huey.storage.flush_queue()

    def unfinished(self) -> int | None:
        return int(self.handlers.huey.storage.queue_size())

    def enqueue(self) -> None:
        self.handlers.noop()

    def workers(self, processes: int) -> list[Command]:
        program = str(Path(sys.executable).with_name("huey_consumer"))
        argv = [program, f"{self.module}.huey", "-w", "1", "-k", "thread", "-n", "-q"]
        return [Command(argv, {"PYTHONPATH": "."})] * processes

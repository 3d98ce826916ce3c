"""dramatiq on Redis."""

from __future__ import annotations

import sys

from benchmarks.harness.processes import Command
from benchmarks.peers.adapters.redis import RedisPeer
from benchmarks.peers.handlers.dramatiq import noop


class Dramatiq(RedisPeer):
    title = "dramatiq"
    setting = "8 threads (default)"

    def enqueue(self) -> None:
        noop.send()

    def workers(self, processes: int) -> list[Command]:
        argv = [sys.executable, "-m", "dramatiq", "benchmarks.peers.handlers.dramatiq", "--threads", "8"]
        return [Command([*argv, "--processes", str(processes)], {})]

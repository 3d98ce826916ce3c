"""celery on Redis, with prefork workers."""

from __future__ import annotations

import sys

from benchmarks.harness.processes import Command
from benchmarks.peers.adapters.redis import RedisPeer
from benchmarks.peers.handlers.celery import noop


class Celery(RedisPeer):
    title = "celery"
    setting = "prefork, results off, prefetch 64"
    grace = 4.0

    def enqueue(self) -> None:
        noop.delay()

    def workers(self, processes: int) -> list[Command]:
        app = ["-m", "celery", "-A", "benchmarks.peers.handlers.celery", "worker", "-n", "peers@localhost"]
        flags = [
            "-P",
            "prefork",
            "-c",
            str(processes),
            "-l",
            "WARNING",
            "--without-gossip",
            "--without-mingle",
        ]
        return [Command([sys.executable, *app, *flags], {})]

"""rq on Redis, with the worker that does not fork for each job."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rq import Queue

from benchmarks.harness.processes import Command
from benchmarks.peers.adapters.redis import RedisPeer

_NOOP = "benchmarks.peers.handlers.plain.noop"


class Rq(RedisPeer):
    title = "rq"
    setting = "SimpleWorker, result_ttl 0"
    can_enqueue_many = True

    def set_up(self) -> None:
        super().set_up()
        self._queue = Queue("default", connection=self._redis)

    def enqueue(self) -> None:
        self._queue.enqueue(_NOOP, result_ttl=0)

    def enqueue_many(self, count: int) -> None:
        self._queue.enqueue_many([Queue.prepare_data(_NOOP, (), result_ttl=0) for _ in range(count)])

    def workers(self, processes: int) -> list[Command]:
        program = str(Path(sys.executable).with_name("rq"))
        url = os.environ["PEER_REDIS_URL"]
        argv = [program, "worker", "-u", url, "-w", "rq.SimpleWorker", "--quiet", "default"]
        return [Command(argv, {"PYTHONPATH": "."})] * processes

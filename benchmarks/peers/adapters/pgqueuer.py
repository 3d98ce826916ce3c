"""pgqueuer on asyncpg and uvloop."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import asyncpg
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from benchmarks.harness.processes import Command
from benchmarks.peers.peer import SQLPeer


class PgQueuer(SQLPeer):
    title = "pgqueuer"
    history = "log of counts and states kept"
    setting = "asyncpg, uvloop, batches of 100, async handler"
    grace = 1.5
    count = "SELECT count(*) FROM pgqueuer"
    clear = ("TRUNCATE pgqueuer, pgqueuer_log RESTART IDENTITY CASCADE",)
    entrypoint: ClassVar[str] = "noop"

    def set_up(self) -> None:
        url = os.environ["DATABASE_URL"]
        program = Path(sys.executable).with_name("pgq")
        subprocess.run([program, "--pg-dsn", url, "install"], check=True, stdout=subprocess.DEVNULL)
        self._loop = asyncio.new_event_loop()
        self._client = self._loop.run_until_complete(asyncpg.connect(url))
        self._queries = Queries(AsyncpgDriver(self._client))

    def close(self) -> None:
        self._loop.run_until_complete(self._client.close())

    def enqueue(self) -> None:
        self._loop.run_until_complete(self._queries.enqueue(self.entrypoint, None))

    def seconds_for(self, count: int) -> float:
        async def enqueue() -> None:
            for _ in range(count):
                await self._queries.enqueue(self.entrypoint, None)

        start = time.perf_counter()
        self._loop.run_until_complete(enqueue())
        return time.perf_counter() - start

    def enqueue_many(self, count: int) -> None:
        many = self._queries.enqueue([self.entrypoint] * count, [None] * count, [0] * count)
        self._loop.run_until_complete(many)

    def workers(self, processes: int) -> list[Command]:
        return [Command([sys.executable, "-m", "benchmarks.peers.handlers.pgqueuer"], {})] * processes


class PgQueuerSync(PgQueuer):
    title = "pgqueuer, plain handler"
    setting = "asyncpg, uvloop, batches of 100, handler in a thread"
    entrypoint = "noop-sync"

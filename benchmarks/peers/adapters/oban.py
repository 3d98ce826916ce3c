"""oban, the open-source Python package, embedded in a small program."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import uvloop
from oban import Oban as Client

from benchmarks.harness.processes import Command
from benchmarks.peers.handlers.oban import Noop
from benchmarks.peers.peer import SQLPeer

_UNFINISHED = "state IN ('available', 'executing', 'scheduled', 'retryable')"


class Oban(SQLPeer):
    title = "oban"
    setting = "limit 100, uvloop, async handler"
    count = f"SELECT count(*) FROM oban_jobs WHERE {_UNFINISHED}"
    clear = ("TRUNCATE oban_jobs RESTART IDENTITY",)

    def set_up(self) -> None:
        program = Path(sys.executable).with_name("oban")
        url = os.environ["DATABASE_URL"]
        subprocess.run([program, "install", "--dsn", url], check=True, capture_output=True)
        # The client has tasks in the background: a loop that stands still could leave a transaction of theirs
        # open, and its locks held.
        self._loop = uvloop.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._oban = self._run(self._start(url))

    async def _start(self, url: str) -> Any:
        client = Client(pool=await Client.create_pool(dsn=url))
        await client.start()
        return client

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def enqueue(self) -> None:
        self._run(self._oban.enqueue(Noop.new({})))

    def seconds_for(self, count: int) -> float:
        async def enqueue() -> None:
            for _ in range(count):
                await self._oban.enqueue(Noop.new({}))

        start = time.perf_counter()
        self._run(enqueue())
        return time.perf_counter() - start

    def enqueue_many(self, count: int) -> None:
        async def enqueue() -> None:
            await self._oban.enqueue_many(*[Noop.new({}) for _ in range(count)])

        self._run(enqueue())

    def workers(self, processes: int) -> list[Command]:
        return [Command([sys.executable, "-m", "benchmarks.peers.handlers.oban"], {})] * processes

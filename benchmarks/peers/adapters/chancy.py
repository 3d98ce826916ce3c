"""chancy with its async executor."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from chancy import Chancy as Client
from chancy import Job, Queue

from benchmarks.harness.processes import Command
from benchmarks.peers.handlers.chancy import LOG
from benchmarks.peers.peer import SQLPeer


class Chancy(SQLPeer):
    title = "chancy"
    setting = "async executor, concurrency 100, eager polling"
    count = "SELECT count(*) FROM chancy_jobs WHERE state NOT IN ('succeeded', 'failed')"
    clear = ("TRUNCATE chancy_jobs",)

    def set_up(self) -> None:
        asyncio.run(self._declare())
        self._client = Client(os.environ["DATABASE_URL"], log=LOG)
        self._client.__enter__()

    async def _declare(self) -> None:
        async with Client(os.environ["DATABASE_URL"], log=LOG) as client:
            await client.migrate()
            queue = Queue(
                name="default",
                executor=Client.Executor.Async,
                concurrency=100,
                eager_polling=True,
                polling_interval=1,
            )
            await client.declare(queue, upsert=True)

    def close(self) -> None:
        self._client.__exit__(None, None, None)

    def _job(self) -> Any:
        return Job(func="benchmarks.peers.handlers.plain.async_noop", queue="default", kwargs={})

    def enqueue(self) -> None:
        self._client.sync_push(self._job())

    def enqueue_many(self, count: int) -> None:
        for _ in self._client.sync_push_many([self._job() for _ in range(count)]):
            pass

    def workers(self, processes: int) -> list[Command]:
        return [Command([sys.executable, "-m", "benchmarks.peers.handlers.chancy"], {})] * processes

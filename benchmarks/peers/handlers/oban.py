"""oban's worker: ``python -m benchmarks.peers.handlers.oban``."""

from __future__ import annotations

import asyncio
import os
import signal

import uvloop
from oban import Oban, worker

from benchmarks.harness.counter import note

LIMIT = 100


@worker(queue="default", max_attempts=3)
class Noop:
    async def process(self, job: object) -> None:
        note()


async def main() -> None:
    pool = await Oban.create_pool(dsn=os.environ["DATABASE_URL"])
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with Oban(pool=pool, queues={"default": LIMIT}):
        await stop.wait()


if __name__ == "__main__":
    from benchmarks.peers.handlers.oban import main as start  # the class is looked up by its module's name

    uvloop.run(start())

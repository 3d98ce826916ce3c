"""pgqueuer's worker: ``python -m benchmarks.peers.handlers.pgqueuer``.

Its own command, ``pgq run``, ends at start in 1.6.0 when a log level is given; ``PgQueuer.run`` is what it calls.
"""

from __future__ import annotations

import asyncio
import logging
import os

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver

from benchmarks.harness.counter import note

BATCH = 100


async def main() -> None:
    queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(os.environ["DATABASE_URL"])))

    @queuer.entrypoint("noop")
    async def noop(job: object) -> None:
        note()

    @queuer.entrypoint("noop-sync")
    async def noop_sync(job: object) -> None:
        await asyncio.to_thread(note)  # what its refusal of plain functions says to do

    await queuer.run(batch_size=BATCH)


if __name__ == "__main__":
    logging.disable(logging.INFO)
    uvloop.run(main())

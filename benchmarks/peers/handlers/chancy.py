"""chancy's worker: ``python -m benchmarks.peers.handlers.chancy``."""

from __future__ import annotations

import asyncio
import logging
import os

from chancy import Chancy, Worker

LOG = logging.getLogger("chancy.peers")
LOG.setLevel(logging.WARNING)


async def main() -> None:
    async with Chancy(os.environ["DATABASE_URL"], log=LOG) as chancy, Worker(chancy) as worker:
        await worker.wait_for_shutdown()


if __name__ == "__main__":
    asyncio.run(main())

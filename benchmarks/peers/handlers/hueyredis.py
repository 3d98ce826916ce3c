"""For huey on Redis: a module that its worker imports."""

from __future__ import annotations

import os

from huey import RedisHuey

from benchmarks.harness.counter import note

huey = RedisHuey("peers", url=os.environ["PEER_REDIS_URL"], results=False)


@huey.task()
def noop() -> None:
    note()

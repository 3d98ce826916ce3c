"""For dramatiq: a module that its worker imports."""

from __future__ import annotations

import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks.harness.counter import note

dramatiq.set_broker(RedisBroker(url=os.environ["PEER_REDIS_URL"]))


@dramatiq.actor
def noop() -> None:
    note()

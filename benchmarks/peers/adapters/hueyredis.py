"""huey on Redis."""

from __future__ import annotations

from benchmarks.peers.adapters.huey import Huey


class HueyRedis(Huey):
    title = "huey on Redis"
    store = "redis"
    module = "benchmarks.peers.handlers.hueyredis"

    def unfinished(self) -> int | None:
        return None

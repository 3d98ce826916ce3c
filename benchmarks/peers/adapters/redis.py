"""What the peers on Redis share. The server keeps nothing on disk, so they are not durable here."""

from __future__ import annotations

import os
from typing import Any

import redis

from benchmarks.peers.peer import Peer


class RedisPeer(Peer):
    store = "redis"
    history = "deleted"
    can_enqueue_many = False
    _redis: Any = None

    def set_up(self) -> None:
        self._redis = redis.Redis.from_url(os.environ["PEER_REDIS_URL"])

    def empty(self) -> None:
        self._redis.flushdb()

    def unfinished(self) -> int | None:
        return None

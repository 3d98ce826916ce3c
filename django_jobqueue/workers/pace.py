"""How many jobs to claim ahead of the threads: what they finish in a few milliseconds, so none is hoarded."""

from __future__ import annotations

import time

HORIZON = 0.06  # seconds of work that may wait in line
MOST = 1000  # two batches: the threads work off one while the database works on the next
_WEIGHT = 0.5


class Pace:
    """The rate of finished jobs, and the prefetch that follows from it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rate = 0.0
        self._since = time.monotonic()
        self._finished = 0

    def finished(self, count: int) -> None:
        """So many jobs ended since the last call."""
        self._finished += count
        now = time.monotonic()
        span = now - self._since
        if span < 0.001:
            return
        # A long silence says nothing about how fast the next jobs are, so it counts as a short one.
        self._rate += _WEIGHT * (self._finished / min(span, 1.0) - self._rate)
        self._since, self._finished = now, 0

    def stall(self) -> None:
        """The threads are blocked by long jobs."""
        self._rate = 0.0

    @property
    def prefetch(self) -> int:
        """How many jobs may wait in line."""
        return min(self._most, int(self._rate * HORIZON))

"""Where the last claim ended, for as long as starting at the head of the queue is slow.

While some transaction holds an old snapshot, the claimed rows stay in the index before the pending ones, and
each claim walks over all of them. A claim that starts where the last one ended does not. It misses what came
back to pending behind that point, so the head is looked at again every now and then.
"""

from __future__ import annotations

import time

_SLOW = 0.02  # seconds for a claim
_SLOW_A_ROW = 0.0001  # and for each row that it takes or completes
_SHORTEST = 0.25  # seconds between two looks at the head
_SHARE = 20  # looks at the head may take one part in so many of the time


class Cursor:
    """The end of the last claim of one queue."""

    def __init__(self) -> None:
        self._after: tuple[str, int, int] | None = None
        self.until = 0.0
        """When to look at the head again, on the monotonic clock."""

    def after(self, queue: str) -> tuple[int, int] | None:
        """The (priority, id) behind which to claim from ``queue``; ``None``: from its head."""
        if self._after is None or self._after[0] != queue or time.monotonic() >= self.until:
            return None
        return self._after[1:]

    def note(self, last: tuple[str, int, int] | None, took: float, *, work: int, from_head: bool) -> None:
        """A claim from one queue ended with the row ``last`` (queue, priority, id), if it took any.

        It took ``took`` seconds and changed ``work`` rows.
        """
        if from_head and took < _SLOW + _SLOW_A_ROW * work:
            self._after = None
            return
        if from_head:
            self.until = time.monotonic() + max(_SHORTEST, _SHARE * took)
        if last is not None:
            self._after = last

    def forget(self) -> None:
        """Jobs came back to pending: look at the head."""
        self._after = None

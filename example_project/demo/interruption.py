"""Ctrl-C and its relatives, seen at moments when the demo can stop cleanly."""

from __future__ import annotations

import signal
import time
from types import FrameType
from typing import Any, Self


class Interruption:
    """Notes SIGINT, SIGTERM and SIGHUP within the ``with`` block; ``check`` and ``pause`` raise them.

    Raised at once they could hit the middle of a query, which leaves a database connection unusable. A second
    signal is raised at once nevertheless: then somebody is in a hurry.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._previous: dict[int, Any] = {}
        self._requested = False

    def __enter__(self) -> Self:
        self._previous = {number: signal.signal(number, self._received) for number in self.SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raises ``KeyboardInterrupt`` if one of the signals has come."""
        if self._requested:
            raise KeyboardInterrupt

    def pause(self, seconds: float) -> None:
        """Sleep, unless one of the signals has come or comes meanwhile."""
        self.check()
        time.sleep(seconds)
        self.check()

    def _received(self, number: int, frame: FrameType | None) -> None:
        self.check()
        self._requested = True

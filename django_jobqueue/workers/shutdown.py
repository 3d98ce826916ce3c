"""Signals: the first asks the worker to finish, the second to give back and go."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from django_jobqueue.workers.wakeup import Wakeup
from django_jobqueue.workers.watchdog import Watchdog


class Shutdown:
    """Whether and how urgently the worker should stop. A context that handles SIGTERM and SIGINT meanwhile."""

    SIGNALS = (signal.SIGTERM, signal.SIGINT)

    def __init__(self, wakeup: Wakeup, patience: float, unfinished: Callable[[], int]) -> None:
        self._wakeup = wakeup
        self._patience = patience
        self._unfinished = unfinished
        self._watchdog: Watchdog | None = None
        self._previous: dict[int, Any] = {}
        self.requests = 0
        self.signalled = False

    @property
    def requested(self) -> bool:
        """Finish what runs, start nothing."""
        return self.requests >= 1

    @property
    def at_once(self) -> bool:
        """Give back what runs."""
        return self.requests >= 2

    def request(self) -> None:
        """Ask to stop, once more each time."""
        self.requests += 1
        self._wakeup.ring()
        if self._watchdog is not None:
            self._watchdog.asked()

    def begun(self) -> None:
        """The worker ends by itself: that, too, must come to an end."""
        if not self.requests and self._watchdog is not None:
            self._watchdog.asked()

    def __enter__(self) -> Shutdown:
        if threading.current_thread() is threading.main_thread():
            self._watchdog = Watchdog(self._wakeup, self._patience, self._unfinished)
            self._watchdog.start()
            for number in self.SIGNALS:
                self._previous[number] = signal.signal(number, self._received)
            self._previous_fd = signal.set_wakeup_fd(self._watchdog.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous:
            signal.set_wakeup_fd(self._previous_fd)
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None

    def _received(self, number: int, frame: FrameType | None) -> None:
        self.signalled = True
        self.requests += 1  # the watchdog has its own word of it
        self._wakeup.ring()

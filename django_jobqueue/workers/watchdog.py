"""The end of a process that does not end by itself, whatever holds up its threads."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

from django_jobqueue.workers.wakeup import Wakeup

logger = logging.getLogger("django_jobqueue.worker")

GRACE = 5.0
"""Seconds beyond the shutdown timeout in which what still runs is given back."""
AT_ONCE = 3.0
"""Seconds for the same after the second signal."""
_WORDS = 1.0  # seconds that the last words may take: a log may be what hangs


class Watchdog:
    """A thread that ends the process when the worker's own thread has not ended in time.

    It counts the signals itself, from the descriptor that Python's C code writes them to: a handler in Python
    runs only once the main thread comes back from its driver. It ends the process with the exit code 1.
    """

    def __init__(self, wakeup: Wakeup, patience: float, unfinished: Callable[[], int]) -> None:
        self._wakeup = wakeup
        self._patience = patience
        self._unfinished = unfinished
        self._watched = threading.get_ident()
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._requests = 0
        self._end_at = float("inf")
        self._over = False
        self._thread = threading.Thread(target=self._watch, name="jobqueue-watchdog", daemon=True)

    def start(self) -> None:
        """Watch, from now on."""
        self._thread.start()

    def fileno(self) -> int:
        """The descriptor for ``signal.set_wakeup_fd``."""
        return self._writer.fileno()

    def asked(self) -> None:
        """The worker shall end, without a signal: it was asked to, or its work is done."""
        self._tell(b"\0")

    def stop(self) -> None:
        """The worker has ended."""
        self._over = True
        self._tell(b"\0")
        self._thread.join()
        self._reader.close()
        self._writer.close()

    def _tell(self, what: bytes) -> None:
        with contextlib.suppress(OSError):
            self._writer.send(what)

    def _watch(self) -> None:
        while not self._over:
            left = self._end_at - time.monotonic()
            if left <= 0:
                self._end()
            self._reader.settimeout(None if left == float("inf") else left)
            try:
                told = self._reader.recv(4096)
            except TimeoutError:
                continue
            for number in told:
                if number in (0, signal.SIGTERM, signal.SIGINT):
                    self._count()
            self._wakeup.ring()  # the main thread may have been about to wait

    def _count(self) -> None:
        self._requests += 1
        patience = self._patience + GRACE if self._requests == 1 else AT_ONCE
        self._end_at = min(self._end_at, time.monotonic() + patience)

    def _end(self) -> None:
        words = threading.Thread(target=self._say, daemon=True)
        words.start()
        words.join(_WORDS)
        os._exit(1)

    def _say(self) -> None:
        frame = sys._current_frames().get(self._watched)
        where = "nowhere" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        logger.critical(
            "The worker did not end in time and is ended now: it was held up in %s, %d jobs are unfinished and "
            "come back when their leases have run out",
            where,
            self._unfinished(),
        )
        flush_streams()


def flush_streams() -> None:
    """Write what is in the buffers, where that is possible."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def leave_within(seconds: float, code: int) -> None:
    """End this process with ``code`` if it has not ended by itself: threads left behind may keep it for ever."""

    def end() -> None:
        time.sleep(seconds)
        others = [
            thread.name
            for thread in threading.enumerate()
            if thread is not threading.main_thread() and not thread.name.startswith("jobqueue-")
        ]
        words = threading.Thread(
            target=logger.critical,
            args=["The process is ended now: it waited for what was left behind (%s)", ", ".join(others)],
            daemon=True,
        )
        words.start()
        words.join(_WORDS)
        os._exit(code)

    threading.Thread(target=end, name="jobqueue-leave", daemon=True).start()

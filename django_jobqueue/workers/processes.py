"""Several worker processes under one supervisor, which has no threads, no connections and no jobs of its own.

The workers are forked: they share the imported project's memory and start in milliseconds. That is safe
because the supervisor closes its connections before each fork and never starts a thread.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

from django_jobqueue.workers.fork import fork

logger = logging.getLogger("django_jobqueue.worker")

_LONGEST_DELAY = 30.0
_STEADY_AFTER = 60.0  # seconds of life after which a worker counts as healthy again
_TICK = 0.1
_GRACE = 8.0  # what a worker may take beyond its own shutdown timeout, its watchdog's last words included


class _Child:
    def __init__(self, number: int) -> None:
        self.number = number
        self.pid: int | None = None
        self.started = 0.0
        self.start_at = 0.0
        self.deaths = 0


def run_processes(work: Callable[[int], int], count: int, shutdown_timeout: float) -> int:
    """Run ``work(number)`` in ``count`` processes until they are told to stop or have all ended by themselves.

    A process that dies is started again, later each time (up to 30 s); one that ends with exit code 0 is done.
    SIGTERM, SIGINT and SIGHUP go to all of them as SIGTERM; so does the supervisor's own death, on Linux. What
    has not ended ``shutdown_timeout`` and 8 more seconds after the first signal, or 8 seconds after the second,
    is killed. Returns 0 when every process ended in order, else 1.
    """
    return _Supervisor(work, count, shutdown_timeout).run()


class _Supervisor:
    def __init__(self, work: Callable[[int], int], count: int, shutdown_timeout: float) -> None:
        self._work = work
        self._children = [_Child(number) for number in range(1, count + 1)]
        self._shutdown_timeout = shutdown_timeout
        self._signals = 0
        self._forwarded = 0
        self._kill_at = float("inf")
        self._code = 0

    def run(self) -> int:
        previous = self._handle_signals()
        try:
            while any(child.pid or not self._signals for child in self._children):
                if self._signals > self._forwarded:
                    self._forward()
                if time.monotonic() > self._kill_at:
                    self._send(signal.SIGKILL)
                self._start_due()
                self._collect()
                if self._children:
                    time.sleep(_TICK)
        finally:
            self._send(signal.SIGTERM)  # to nobody, unless the supervisor itself has failed
            for number, handler in previous.items():
                signal.signal(number, handler)
        return self._code

    def _handle_signals(self) -> dict[signal.Signals, Any]:
        """Take the signals over; returns what they did before."""
        wanted: dict[signal.Signals, Any] = dict.fromkeys((signal.SIGTERM, signal.SIGINT), self._received)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
            wanted[signal.SIGHUP] = self._received
        # Where it is ignored (whoever started this process may have left it so), exit codes are lost.
        wanted[signal.SIGCHLD] = signal.SIG_DFL
        return {number: signal.signal(number, handler) for number, handler in wanted.items()}

    def _received(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1

    def _forward(self) -> None:
        self._forwarded += 1
        self._send(signal.SIGTERM)
        patience = self._shutdown_timeout if self._forwarded == 1 else 0.0
        self._kill_at = min(self._kill_at, time.monotonic() + patience + _GRACE)

    def _send(self, number: signal.Signals) -> None:
        for child in self._children:
            if child.pid:
                os.kill(child.pid, number)

    def _start_due(self) -> None:
        for child in self._children:
            if child.pid is None and not self._signals and time.monotonic() >= child.start_at:
                self._start(child)

    def _start(self, child: _Child) -> None:
        child.started = time.monotonic()
        try:
            child.pid = fork(partial(self._work, child.number), on_parent_death=signal.SIGTERM)
        except OSError as error:
            self._start_later(child, f"could not be started ({error.strerror})")

    def _collect(self) -> None:
        for child in list(self._children):
            if child.pid is None:
                continue
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid == 0:
                continue
            child.pid = None
            code = os.waitstatus_to_exitcode(status)
            if self._signals and code == -signal.SIGTERM:
                code = 0  # told to stop before its work had begun, or after it had ended
            if code == 0 or self._signals:
                logger.info("Worker process %d ended with exit code %d", child.number, code)
                self._code = self._code or (1 if code else 0)
                self._children.remove(child)
            else:
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                self._start_later(child, f"ended with {how}")

    def _start_later(self, child: _Child, what: str) -> None:
        lived = time.monotonic() - child.started
        child.deaths = 1 if lived > _STEADY_AFTER else child.deaths + 1
        delay = min(_LONGEST_DELAY, 0.1 * 2 ** min(child.deaths - 1, 10))
        child.start_at = time.monotonic() + delay
        logger.error("Worker process %d %s; starting it again in %.1f s", child.number, what, delay)

"""Several worker processes under one supervisor, which has no threads, no connections and no jobs of its own.

The children are forked: they share the imported project's memory and start in milliseconds. That is safe
because the supervisor closes its connections before each fork and never starts a thread.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from django.db import connections

logger = logging.getLogger("django_jobqueue.worker")

_LONGEST_DELAY = 30.0
_STEADY_AFTER = 60.0  # seconds of life after which a child counts as healthy again
_TICK = 0.1
_GRACE = 5.0  # what a child may take beyond its own shutdown timeout


class _Child:
    def __init__(self, number: int) -> None:
        self.number = number
        self.pid: int | None = None
        self.started = 0.0
        self.start_at = 0.0
        self.deaths = 0


def run_processes(work: Callable[[int], int], count: int, shutdown_timeout: float) -> int:
    """Run ``work(number)`` in ``count`` processes until they are told to stop or have all ended by themselves.

    A child that dies is started again, later each time (up to 30 s); one that ends with exit code 0 is done.
    SIGTERM and SIGINT go to all children. Returns 0 when every child ended in order, else 1.
    """
    return _Supervisor(work, count, shutdown_timeout).run()


class _Supervisor:
    def __init__(self, work: Callable[[int], int], count: int, shutdown_timeout: float) -> None:
        self._work = work
        self._children = [_Child(number) for number in range(1, count + 1)]
        self._shutdown_timeout = shutdown_timeout
        self._signals = 0
        self._forwarded = 0
        self._code = 0

    def run(self) -> int:
        previous = {
            number: signal.signal(number, self._received) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            kill_at = float("inf")
            while any(child.pid or not self._signals for child in self._children):
                if self._signals > self._forwarded:
                    self._forward()
                    kill_at = time.monotonic() + self._shutdown_timeout + _GRACE
                if time.monotonic() > kill_at:
                    self._send(signal.SIGKILL)
                self._start_due()
                self._collect()
                if not self._children:
                    break
                time.sleep(_TICK)
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
        return self._code

    def _received(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1

    def _forward(self) -> None:
        self._forwarded += 1
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        for child in self._children:
            if child.pid:
                os.kill(child.pid, number)

    def _start_due(self) -> None:
        for child in self._children:
            if child.pid is None and not self._signals and time.monotonic() >= child.start_at:
                self._start(child)

    def _start(self, child: _Child) -> None:
        for connection in connections.all(initialized_only=True):
            connection.close()
        sys.stdout.flush()
        sys.stderr.flush()
        # A signal in between would reach the supervisor's handler in the child; so it waits.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
                code = self._work(child.number)
            except BaseException:
                logger.exception("Worker process %d failed", child.number)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        child.pid = pid
        child.started = time.monotonic()

    def _collect(self) -> None:
        for child in list(self._children):
            if child.pid is None:
                continue
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid == 0:
                continue
            child.pid = None
            code = os.waitstatus_to_exitcode(status)
            if code == 0 or self._signals:
                self._code = self._code or (1 if code else 0)
                self._children.remove(child)
                continue
            lived = time.monotonic() - child.started
            child.deaths = 1 if lived > _STEADY_AFTER else child.deaths + 1
            delay = min(_LONGEST_DELAY, 0.1 * 2 ** min(child.deaths - 1, 10))
            child.start_at = time.monotonic() + delay
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            logger.error(
                "Worker process %d ended with %s; starting it again in %.1f s", child.number, how, delay
            )

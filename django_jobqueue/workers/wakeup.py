"""Waiting that ends early: on a finished job, on a signal. Holds no lock, so a signal handler may wake too."""

from __future__ import annotations

import contextlib
import random
import select
import socket


class Wakeup:
    """A bell that any thread may ring and one thread waits for."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._rung = False

    def fileno(self) -> int:
        """The descriptor that ``signal.set_wakeup_fd`` may write to."""
        return self._writer.fileno()

    def ring(self) -> None:
        """End the current wait, or the next one."""
        if not self._rung:
            self._rung = True
            with contextlib.suppress(OSError):  # it is full of calls already, or nobody waits any more
                self._writer.send(b"\0")

    def wait(self, timeout: float, also: int | None = None) -> bool:
        """Wait until rung or until the descriptor ``also`` is readable, at most ``timeout`` seconds.

        Returns whether ``also`` is readable.
        """
        poll = select.poll()  # select.select refuses descriptors above 1,023
        poll.register(self._reader, select.POLLIN)
        if also is not None:
            poll.register(also, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(max(0.0, timeout) * 1000)}
        if self._reader.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                while self._reader.recv(4096):
                    pass
        self._rung = False
        return also is not None and also in ready

    def close(self) -> None:
        """Give the descriptors back."""
        self._reader.close()
        self._writer.close()


class Pause:
    """A wait that grows from ``shortest`` to ``longest`` seconds while nothing happens, a little at random.

    It begins to grow once it has been short for ``steady`` seconds.
    """

    def __init__(self, shortest: float, longest: float, *, steady: float = 0.0) -> None:
        self._shortest = min(shortest, longest)
        self._longest = longest
        self._steady = steady
        self._next = self._shortest
        self._waited = 0.0

    def grow(self) -> float:
        """The wait now; the next one is half as long again, or the same in the steady time."""
        wait = self._next
        self._waited += wait
        if self._waited >= self._steady:
            self._next = min(self._longest, wait * 1.5)
        return wait * (0.9 + 0.2 * random.random())

    def reset(self) -> None:
        """Something happened: start short again."""
        self._next = self._shortest
        self._waited = 0.0

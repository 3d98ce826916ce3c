"""Waiting that ends early: on a finished job, on a signal. Holds no lock, so a signal handler may wake too."""

from __future__ import annotations

import contextlib
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
            with contextlib.suppress(BlockingIOError):
                self._writer.send(b"\0")

    def wait(self, timeout: float) -> None:
        """Wait until rung, at most ``timeout`` seconds."""
        if select.select([self._reader], [], [], max(0.0, timeout))[0]:
            with contextlib.suppress(BlockingIOError):
                while self._reader.recv(4096):
                    pass
        self._rung = False

    def close(self) -> None:
        """Give the descriptors back."""
        self._reader.close()
        self._writer.close()


class Pause:
    """A wait that grows from ``shortest`` to ``longest`` seconds while nothing happens."""

    def __init__(self, shortest: float, longest: float) -> None:
        self._shortest = min(shortest, longest)
        self._longest = longest
        self._next = self._shortest

    def grow(self) -> float:
        """The wait now; the next one is twice as long."""
        wait = self._next
        self._next = min(self._longest, wait * 2)
        return wait

    def reset(self) -> None:
        """Something happened: start short again."""
        self._next = self._shortest

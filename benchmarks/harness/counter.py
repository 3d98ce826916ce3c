"""How many handlers have started, in a file that all processes map: the clock of most measurements.

64 slots of 32 bytes, one a process: count, first start, latest start (Unix time in nanoseconds), owner's pid.
Works without Django, so that the peers' handlers use it, too. A call costs about one microsecond.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import threading
import time
from pathlib import Path
from typing import NamedTuple

VARIABLE = "BENCHMARK_COUNTER"
"""Environment variable with the path of the file."""

_SLOTS, _SIZE = 64, 32


class Count(NamedTuple):
    """Handlers started, and the first and the latest start in seconds of Unix time (0 without any)."""

    started: int
    first: float
    latest: float


class Counter:
    """The reader's side."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reset()

    def reset(self) -> None:
        """Start from zero; only while no handler's process lives."""
        self.path.write_bytes(bytes(_SLOTS * _SIZE))
        with self.path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _SLOTS * _SIZE)

    def read(self) -> Count:
        """The sum over all processes."""
        values = struct.unpack(f"<{_SLOTS * _SIZE // 8}Q", self._map[:])
        firsts = [first for first in values[1::4] if first]
        return Count(sum(values[0::4]), min(firsts, default=0) / 1e9, max(values[2::4]) / 1e9)

    def has_reached(self, started: int) -> bool:
        """Whether so many handlers have started."""
        return self.read().started >= started


class _Slot:
    """The writer's side in one process."""

    def __init__(self) -> None:
        self._started = self._first = 0
        with Path(os.environ[VARIABLE]).open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _SLOTS * _SIZE)
            fcntl.flock(file, fcntl.LOCK_EX)
            owners = [struct.unpack_from("<Q", self._map, index * _SIZE + 24)[0] for index in range(_SLOTS)]
            self._offset = owners.index(0) * _SIZE
            struct.pack_into("<Q", self._map, self._offset + 24, os.getpid())
            fcntl.flock(file, fcntl.LOCK_UN)  # closing does not: the map keeps the file open

    def note(self) -> None:
        now = time.time_ns()
        self._started += 1
        self._first = self._first or now
        # The count last: who sees it raised finds the times that belong to it.
        struct.pack_into("<QQ", self._map, self._offset + 8, self._first, now)
        struct.pack_into("<Q", self._map, self._offset, self._started)


_slot: _Slot | None = None
_lock = threading.Lock()


def _forget_slot() -> None:
    global _slot, _lock
    _slot, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget_slot)


def note() -> None:
    """Count one start of a handler."""
    global _slot
    with _lock:
        if _slot is None:
            _slot = _Slot()
        _slot.note()

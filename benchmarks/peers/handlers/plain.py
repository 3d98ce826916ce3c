"""For queues that are told the name of a function."""

from __future__ import annotations

from benchmarks.harness.counter import note


def noop() -> None:
    note()


async def async_noop() -> None:
    note()

"""Waiting for something to become true."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.harness.counter import Count, Counter
from benchmarks.harness.processes import Processes

_START_TIMEOUT = 40.0


def wait_until(condition: Callable[[], object], timeout: float, interval: float = 0.002) -> None:
    """Wait until ``condition`` is true. Raises ``TimeoutError``."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"Waited for {timeout:.0f} s in vain.")
        time.sleep(interval)


def wait_for_start(counter: Counter, processes: Processes) -> Count:
    """Wait for the first handler. Raises ``RuntimeError`` with the workers' log if there is none."""
    try:
        wait_until(lambda: processes.check() or counter.read().started, _START_TIMEOUT)
    except TimeoutError:
        raise RuntimeError(f"No job was started in {_START_TIMEOUT:.0f} s:\n{processes.log()}") from None
    return counter.read()

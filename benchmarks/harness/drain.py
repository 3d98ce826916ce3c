"""One drain: jobs that are queued already, workers that start, and the time until the database has no more."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.counter import Counter
from benchmarks.harness.processes import Command, Usage, running
from benchmarks.harness.waiting import wait_for_start


class Drained(NamedTuple):
    """Jobs a second: finished, and only started; whether the time ran out first; the workers' use at the end."""

    rate: float
    started_rate: float
    cut_off: bool
    usage: Usage


def drain(
    commands: Sequence[Command],
    counter: Counter,
    log: Path,
    *,
    jobs: int,
    unfinished: Callable[[], int | bool | None],
    limit: float = 15.0,
    grace: float = 5.0,
) -> Drained:
    """Start workers on ``jobs`` queued ones; measure from the first handler's start until none is unfinished.

    ``unfinished`` asks the database; a number of what is left gives a rate also when ``limit`` seconds run
    out, and ``None`` says that it cannot be asked: then the last handler's start counts.
    """
    counter.reset()
    with running(commands, log, grace=grace) as processes:
        first = wait_for_start(counter, processes).first
        deadline = first + limit
        while (count := counter.read()).started < jobs and time.time() < deadline:
            time.sleep(0.002)
        left = unfinished()
        while left and time.time() < deadline:
            time.sleep(0.002)
            left = unfinished()
        now = time.time()
        usage = processes.usage()
        count = counter.read()
    if left is None:
        return Drained(
            count.started / (count.latest - first), count.started / (count.latest - first), False, usage
        )
    done = jobs - left if not isinstance(left, bool) else count.started if left else jobs
    span = now - first
    return Drained(done / span, count.started / (count.latest - first), bool(left), usage)

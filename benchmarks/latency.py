"""How long a job waits for an idle worker: from the call of enqueue, or the commit, to the handler's first line."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial

from django.db import transaction

from benchmarks.harness.database import Database, own_database
from benchmarks.harness.options import read_options
from benchmarks.harness.results import Results, percentile
from benchmarks.harness.waiting import wait_until
from benchmarks.harness.workers import idle_worker, worker_command

SHORT = (0.01, 0.04)
LONG = (1.0, 2.0)

Send = Callable[[Database], float]
"""Enqueues a job and returns when the clock of its wait began, in Unix time."""


def by_call(database: Database) -> float:
    """The clock begins before the call of ``enqueue``, so the insert and its commit are in."""
    start = time.time()
    database.jobs.enqueue("noop", {})
    return start


def by_commit(database: Database) -> float:
    """The clock begins when the commit is sent."""
    with transaction.atomic():
        database.jobs.enqueue("noop", {})
        return time.time()


def waits(database: Database, send: Send, *, samples: int, pause: tuple[float, float]) -> list[float]:
    """Milliseconds that jobs waited, sent one at a time with a random pause in between."""
    counter = database.counter
    milliseconds = []
    for _ in range(samples):
        time.sleep(random.uniform(*pause))
        sent = counter.read().started + 1
        start = send(database)
        wait_until(partial(counter.has_reached, sent), 30, interval=0.0003)
        milliseconds.append((counter.read().latest - start) * 1000)
    return milliseconds


def add(results: Results, name: str, milliseconds: list[float], shares: tuple[float, ...]) -> None:
    """The percentiles of one round."""
    for share in shares:
        results.add(f"{name}: p{share * 100:.0f}", percentile(milliseconds, share), "ms")


def measure(database: Database, results: Results, wakeup: str, samples: int, long_samples: int) -> None:
    """One idle worker, asked in two or three ways."""
    shares = (0.5, 0.95, 0.99)
    database.empty()
    with idle_worker(database, worker_command(wakeup=wakeup)):
        waited = waits(database, by_call, samples=samples, pause=SHORT)
        add(results, f"{wakeup}, from the call", waited, shares)
        if wakeup == "notify":
            waited = waits(database, by_commit, samples=samples, pause=SHORT)
            add(results, f"{wakeup}, from the commit", waited, shares)
        idle = waits(database, by_call, samples=long_samples, pause=LONG)
        add(results, f"{wakeup}, from the call, idle for 1 to 2 s", idle, (0.5,))


def main(arguments: list[str] | None = None) -> None:
    """Measure round by round, each with a fresh worker."""
    options = read_options("latency", __doc__, rounds=3, seconds=52, arguments=arguments)
    samples, long_samples = (10, 1) if options.quick else (120, 3)
    with own_database(options.database) as database:
        results = Results(options, database)
        modes = ("notify", "poll") if options.database == "postgresql" else ("poll",)
        for _ in options.timed_rounds():
            raw = database.server.raw_pickups(database.name, samples=samples)
            add(results, "raw driver: insert, tell, claim", [1000 * seconds for seconds in raw], (0.5, 0.99))
            for wakeup in modes:
                measure(database, results, wakeup, samples, long_samples)
        results.finish()


if __name__ == "__main__":
    main()

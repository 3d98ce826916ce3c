"""What a worker takes while it has nothing to do and while it has: memory, CPU, connections."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from benchmarks.harness.database import Database, own_database
from benchmarks.harness.options import Options, read_options
from benchmarks.harness.processes import Command, Processes, running
from benchmarks.harness.results import Results
from benchmarks.harness.waiting import wait_until
from benchmarks.harness.workers import idle_worker, worker_command

_DJANGO_ONLY = "import django, time; django.setup(); print('ready', flush=True); time.sleep(600)"


def measure_django(database: Database, results: Results) -> None:
    """The same project without a worker: what a worker cannot go below."""
    log = database.folder / "django.log"
    with running([Command([sys.executable, "-c", _DJANGO_ONLY], {})], log) as processes:
        wait_until(lambda: processes.check() or "ready" in log.read_text(), 30)
        results.add("RSS: django.setup() of the same settings", processes.usage().rss, "MiB")


def measure_idle(database: Database, results: Results, wakeup: str, seconds: float) -> None:
    """A worker that has run one job and waits for more."""
    before = database.server.count_connections(database.name)
    with idle_worker(database, worker_command(wakeup=wakeup)) as processes:
        time.sleep(seconds / 3)
        start, cpu = time.monotonic(), processes.usage().cpu
        time.sleep(seconds)
        usage = processes.usage()
        share = 100 * (usage.cpu - cpu) / (time.monotonic() - start)
        results.add(f"RSS: idle worker, {wakeup}", usage.rss, "MiB")
        results.add(f"CPU: idle worker, {wakeup}", share, "% of a core")
        add_connections(database, results, f"connections: idle worker, {wakeup}", before)


def measure_busy(database: Database, results: Results, counts: Sequence[int]) -> None:
    """One worker that runs more and more jobs; its memory after each amount."""
    before = database.server.count_connections(database.name)
    first = f"RSS: after {counts[0]:,} jobs"
    with idle_worker(database, worker_command()) as processes:
        done = 0
        for count in counts:
            cpu = processes.usage().cpu
            work_off(database, processes, "noop", count - done)
            used = processes.usage().cpu - cpu
            against = None if count == counts[0] else first
            results.add(f"RSS: after {count:,} jobs", processes.usage().rss, "MiB", against=against)
            results.add(f"CPU: a job, up to {count:,} jobs", 1e6 * used / (count - done), "µs")
            done = count
        work_off(database, processes, "query", 1000)
        add_connections(database, results, "connections: busy worker, handlers with queries", before)


def work_off(database: Database, processes: Processes, type: str, count: int) -> None:
    """Give the worker ``count`` jobs and wait until they are done."""
    handled = database.counter.read().started
    database.empty()
    database.fill(count, type=type)

    def is_done() -> bool:
        processes.check()
        return database.counter.read().started >= handled + count and not database.has_unfinished()

    wait_until(is_done, 60 + count / 500, interval=0.01)


def add_connections(database: Database, results: Results, name: str, before: int | None) -> None:
    """How many more connections there are than before."""
    if before is not None:
        now = database.server.count_connections(database.name) or 0
        results.add(name, now - before, "connections")


def run(options: Options, database: Database, results: Results) -> None:
    """Everything, once a round."""
    notifies = options.database == "postgresql"
    for _ in options.timed_rounds():
        measure_django(database, results)
        for wakeup in ("poll", "notify") if notifies and not options.quick else ("poll",):
            measure_idle(database, results, wakeup, 0.5 if options.quick else 6.0)
        counts = [2_000] if options.quick else [10_000, 100_000, options.more["jobs"]]
        measure_busy(database, results, sorted(set(counts)))


def main(arguments: list[str] | None = None) -> None:
    """Measure round by round."""
    options = read_options(
        "memory",
        __doc__,
        rounds=3,
        seconds=150,
        arguments=arguments,
        jobs={"type": int, "default": 100_000, "help": "jobs that the busy worker runs (%(default)s)"},
    )
    with own_database(options.database) as database:
        results = Results(options, database)
        run(options, database, results)
        results.finish()


if __name__ == "__main__":
    main()

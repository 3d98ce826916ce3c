"""``runworker`` as real processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import load_command_class

from benchmarks.harness.database import Database
from benchmarks.harness.processes import Command, Processes, running
from benchmarks.harness.waiting import wait_for_start, wait_until

THREADS = 8
ASYNC_SLOTS = 100


def worker_command(
    *,
    handlers: str = "sync",
    processes: int = 1,
    queues: str | None = None,
    wakeup: str = "notify",
    claims: Path | None = None,
) -> Command:
    """A worker with 8 threads, or 100 places for async ``handlers``; its claims are recorded in ``claims``."""
    argv = [sys.executable, "manage.py", "runworker", "-v0", "--no-reload", f"--concurrency={THREADS}"]
    argv.append(f"--processes={processes}")
    if handlers == "async" and "--async-concurrency" in _flags():
        argv.append(f"--async-concurrency={ASYNC_SLOTS}")
    if queues is not None:
        argv.append(f"--queues={queues}")
    environ = {"BENCHMARK_HANDLERS": handlers, "BENCHMARK_WAKEUP": wakeup}
    if claims is not None:
        environ["BENCHMARK_CLAIMS"] = str(claims)
    return Command(argv, environ)


def _flags() -> set[str]:
    parser = load_command_class("django_jobqueue", "runworker").create_parser("manage.py", "runworker")
    return {flag for action in parser._actions for flag in action.option_strings}


@contextmanager
def idle_worker(database: Database, command: Command) -> Iterator[Processes]:
    """A worker that has run one job, and has nothing to do since."""
    database.counter.reset()
    with running([command], database.folder / "worker.log") as processes:
        database.jobs.enqueue("noop", {})
        wait_for_start(database.counter, processes)
        wait_until(lambda: not database.has_unfinished(), 10)
        yield processes

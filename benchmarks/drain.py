"""Jobs that are queued already: how many a second do workers finish, and how close is that to the raw driver?"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.database import Database, own_database
from benchmarks.harness.drain import drain
from benchmarks.harness.features import CAN_FORGET
from benchmarks.harness.options import Options, read_options
from benchmarks.harness.results import Results
from benchmarks.harness.workers import worker_command

RAW = "raw driver: claim 100, complete 100"
RAW_ONE = "raw driver: claim 1, complete 1"
ASYNCIO = "asyncio alone: sleeps of 10 ms, 100 at once"


@dataclass(frozen=True, slots=True)
class Case:
    """What is drained, and by what."""

    jobs: int
    handlers: str = "sync"
    processes: int = 1
    milliseconds: int = 0
    forget: bool = False

    def __str__(self) -> str:
        work = f"jobs of {self.milliseconds} ms" if self.milliseconds else "no-op jobs"
        places = "8 threads" if self.handlers == "sync" else "100 async places"
        workers = "1 process" if self.processes == 1 else f"{self.processes} processes"
        return f"{self.jobs:,} {work}, {places}, {workers}{', history deleted' if self.forget else ''}"


CASES = (
    Case(10_000),
    Case(10_000, processes=2),
    Case(10_000, handlers="async"),
    Case(10_000, handlers="async", processes=2),
    Case(10_000, forget=True),
    Case(100_000),
    Case(100_000, processes=2),
    Case(100_000, handlers="async"),
    Case(10_000, milliseconds=1),
    Case(10_000, handlers="async", milliseconds=1),
    Case(2_000, milliseconds=10),
    Case(10_000, handlers="async", milliseconds=10),
)
QUICK = (Case(500, handlers="async", processes=2), Case(200, milliseconds=1))


def measure(database: Database, case: Case, results: Results, limit: float) -> None:
    """One drain of one case."""
    type = "forget" if case.forget else "sleep" if case.milliseconds else "noop"
    payload: dict[str, Any] = {"seconds": case.milliseconds / 1000} if case.milliseconds else {}
    database.empty()
    database.fill(case.jobs, type=type, payload=payload)
    database.vacuum()
    drained = drain(
        [worker_command(handlers=case.handlers, processes=case.processes)],
        database.counter,
        database.folder / "worker.log",
        jobs=case.jobs,
        unfinished=database.has_unfinished,
        limit=limit,
    )
    if not drained.cut_off and (kept := database.count("completed")) != (0 if case.forget else case.jobs):
        raise RuntimeError(f"{case}: {kept} jobs are completed.")
    against = None if case.milliseconds else RAW
    if case.handlers == "async" and case.milliseconds == 10:
        against = ASYNCIO
    results.add(str(case), drained.rate, "jobs/s", against=against, cut_off=drained.cut_off)


def measure_raw(database: Database, results: Results, quick: bool) -> None:
    """The yardsticks, which share the run with what they measure."""
    seconds = 0.1 if quick else 0.8
    for name, batch in ((RAW, 100), (RAW_ONE, 1)):
        rate = database.server.raw_claims(database.name, batch=batch, seconds=seconds)
        results.add(name, rate, "jobs/s")
    results.add(ASYNCIO, asyncio.run(sleeps(200 if quick else 10_000)), "jobs/s")


async def sleeps(count: int) -> float:
    """Sleeps a second. A loop rounds its waits up to milliseconds, so that one of 10 ms takes longer."""
    numbers = iter(range(count))

    async def one_after_another() -> None:
        for _ in numbers:
            await asyncio.sleep(0.01)

    begun = time.perf_counter()
    await asyncio.gather(*(one_after_another() for _ in range(100)))
    return count / (time.perf_counter() - begun)


def main(arguments: list[str] | None = None) -> None:
    """Measure round by round, so that what changes on the machine meanwhile meets every case."""
    options = read_options("drain", __doc__, rounds=5, seconds=165, arguments=arguments)
    with own_database(options.database) as database:
        results = Results(options, database)
        cases = [case for case in (QUICK if options.quick else CASES) if not case.forget or CAN_FORGET]
        run(options, database, results, cases)
        results.finish()


def run(options: Options, database: Database, results: Results, cases: list[Case]) -> None:
    """The rounds, as many as there is time for."""
    for _ in options.timed_rounds():
        measure_raw(database, results, options.quick)
        for case in cases:
            measure(database, case, results, limit=3.0 if options.quick else 12.0)
    measure_raw(database, results, options.quick)


if __name__ == "__main__":
    main()

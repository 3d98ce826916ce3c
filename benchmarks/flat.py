"""Does the cost of a job stay the same beside a million finished, scheduled, waiting or stuck ones?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from benchmarks.harness.database import FINISHED, SCHEDULED, Database, own_database
from benchmarks.harness.drain import Drained, drain
from benchmarks.harness.options import Options, read_options
from benchmarks.harness.results import Results, number, percentile
from benchmarks.harness.workers import worker_command

ROWS = 1_000_000
OTHER_QUEUES = 10


@dataclass(frozen=True, slots=True)
class Bystanders:
    """Rows that are there and have nothing to do with the jobs that are drained."""

    name: str
    count: int
    columns: dict[str, str] = field(default_factory=dict)
    queues: tuple[str, ...] = ("default",)
    pending: bool = False

    def fill(self, database: Database) -> None:
        """Add them."""
        for queue in self.queues:
            database.fill(self.count // len(self.queues), self.columns, queue=queue)


def bystanders(rows: int) -> list[Bystanders]:
    """Every kind."""
    stuck = rows // 10
    queues = tuple(f"stuck-{index}" for index in range(OTHER_QUEUES))
    return [
        Bystanders(f"beside {rows:,} finished jobs", rows, FINISHED),
        Bystanders(f"beside {rows:,} scheduled jobs", rows, SCHEDULED),
        Bystanders(f"beside {stuck:,} pending jobs in {OTHER_QUEUES} other queues", stuck, queues=queues),
        Bystanders(f"at the head of {rows:,} pending jobs", rows, pending=True),
    ]


def measure_drain(database: Database, jobs: int, *, more_wait: bool) -> Drained:
    """One worker that serves the default queue, over the first ``jobs`` of it."""
    if not more_wait:
        database.fill(jobs)
    database.vacuum()
    return drain(
        [worker_command(queues="default")],
        database.counter,
        database.folder / "worker.log",
        jobs=jobs,
        unfinished=(lambda: False) if more_wait else database.has_unfinished,
    )


def claim_p99(database: Database, claims: int) -> float:
    """Milliseconds that 99 % of the claims of one job do not exceed; each is completed before the next."""
    milliseconds = []
    for _ in range(claims):
        start = time.perf_counter()
        job = database.jobs.claim(worker_id="benchmark", queues=["default"])
        milliseconds.append((time.perf_counter() - start) * 1000)
        database.jobs.complete(job.pk, fencing_token=job.fencing_token)
    return percentile(milliseconds, 0.99)


class Flat:
    """The measurements of one run."""

    def __init__(self, options: Options, database: Database, results: Results) -> None:
        self._options = options
        self._database = database
        self._results = results
        self._jobs = 300 if options.quick else 20_000
        self._claims = 50 if options.quick else 500
        self._alone = f"drain of {self._jobs:,}: alone"
        self._few = "claim p99: at the head of 1,000 pending jobs"

    def run(self) -> None:
        """All bystanders, the empty table before each of them and after the last."""
        options = self._options
        kinds = bystanders(options.more["rows"])
        if options.quick:
            kinds = bystanders(10_000)[-1:]
        for index, some in enumerate(kinds, start=1):
            until = options.started + options.seconds * index / (len(kinds) + 0.5)
            self._measure_alone(until - time.monotonic())
            self._measure_beside(some, until)
        if not options.quick:
            self._measure_alone(options.left() / 2)
        self._measure_claims(self._few, options.left())

    def _measure_beside(self, some: Bystanders, until: float) -> None:
        self._database.empty()
        start = time.monotonic()
        some.fill(self._database)
        print(f"{some.name}: laid out in {number(time.monotonic() - start)} s", flush=True)

        def once() -> None:
            drained = measure_drain(self._database, self._jobs, more_wait=some.pending)
            name = f"drain of {self._jobs:,}: {some.name}"
            self._results.add(name, drained.rate, "jobs/s", against=self._alone, cut_off=drained.cut_off)

        self._repeat(self._options.rounds, until - time.monotonic(), once)
        if some.pending:
            self._measure_claims(f"claim p99: {some.name}", until - time.monotonic())

    def _measure_alone(self, seconds: float) -> None:
        def once() -> None:
            self._database.empty()
            drained = measure_drain(self._database, self._jobs, more_wait=False)
            self._results.add(self._alone, drained.rate, "jobs/s", cut_off=drained.cut_off)

        self._repeat(2, seconds / 3, once)

    def _measure_claims(self, name: str, seconds: float) -> None:
        def once() -> None:
            if name == self._few:
                self._database.empty()
                self._database.fill(1_000)
            self._database.vacuum()
            against = None if name == self._few else self._few
            self._results.add(name, claim_p99(self._database, self._claims), "ms", against=against)

        self._repeat(3, seconds, once)

    def _repeat(self, times: int, seconds: float, measure: Callable[[], None]) -> None:
        """Once, and more often as far as the time goes."""
        end, longest = time.monotonic() + seconds, 0.0
        for turn in range(1 if self._options.quick else times):
            start = time.monotonic()
            if turn and start + longest > end:
                break
            measure()
            longest = max(longest, time.monotonic() - start)


def main(arguments: list[str] | None = None) -> None:
    """Lay out each kind of rows in turn and measure beside it."""
    options = read_options(
        "flat",
        __doc__,
        rounds=5,
        seconds=220,
        arguments=arguments,
        rows={"type": int, "default": ROWS, "help": "rows of each kind (%(default)s)"},
    )
    if options.more["rows"] != ROWS:  # another table of the docs
        options = replace(options, benchmark=f"flat-{options.more['rows']}")
    with own_database(options.database) as database:
        results = Results(options, database)
        Flat(options, database, results).run()
        results.finish()


if __name__ == "__main__":
    main()

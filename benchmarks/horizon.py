"""A steady load while somebody's transaction stays open, so that the database can clean nothing up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks import claims
from benchmarks.claims import Claim
from benchmarks.harness.database import Database, own_database
from benchmarks.harness.options import read_options
from benchmarks.harness.results import Results, number, percentile
from benchmarks.harness.workers import idle_worker, worker_command

_GROUPS = 40  # enqueues a second


@dataclass(slots=True)
class Load:
    """Enqueues ``rate`` jobs a second until told to stop; ``sent`` are there."""

    database: Database
    rate: int
    sent: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """In groups, on time, and late ones without a break."""
        group = [{"type": "noop"} for _ in range(max(1, self.rate // _GROUPS))]
        start = time.monotonic()
        while not self.stop.is_set():
            ahead = self.sent / self.rate - (time.monotonic() - start)
            if ahead > 0:
                time.sleep(ahead)
            self.database.jobs.enqueue_many(group)
            self.sent += len(group)


def minutes_of(recorded: list[Claim], start: float, length: float) -> Iterator[list[float]]:
    """Milliseconds of the claims that brought jobs, by minute (or whatever ``length`` is in seconds)."""
    by_minute: dict[int, list[float]] = {}
    for claim in recorded:
        if claim.jobs and claim.at >= start:
            by_minute.setdefault(int((claim.at - start) / length), []).append(claim.seconds * 1000)
    yield from (by_minute[minute] for minute in sorted(by_minute))


def watch(database: Database, load: Load, handled_before: int, until: float, minute: float) -> list[int]:
    """The longest backlog of each minute."""
    longest: list[int] = []
    start = time.monotonic()
    while (now := time.monotonic()) < until:
        backlog = load.sent - (database.counter.read().started - handled_before)
        if int((now - start) / minute) >= len(longest):
            longest.append(0)
        longest[-1] = max(longest[-1], backlog)
        time.sleep(0.1)
    return longest


def main(arguments: list[str] | None = None) -> None:
    """One worker, one sender, one snapshot."""
    options = read_options(
        "horizon",
        __doc__,
        rounds=None,
        seconds=0,
        arguments=arguments,
        minutes={"type": float, "default": 10, "help": "how long (%(default)s)"},
        rate={"type": int, "default": 800, "help": "jobs a second (%(default)s)"},
    )
    minutes, minute = (2, 1.0) if options.quick else (options.more["minutes"], 60.0)
    with own_database(options.database) as database:
        results = Results(options, database)
        path = database.folder / "claims"
        with idle_worker(database, worker_command(claims=path)):
            snapshot = database.server.connect(database.name)
            database.server.hold_snapshot(snapshot)
            handled, start = database.counter.read().started, time.time()
            load = Load(database, options.more["rate"])
            sender = threading.Thread(target=load.run)
            sender.start()
            try:
                backlogs = watch(database, load, handled, time.monotonic() + minutes * minute, minute)
            finally:
                load.stop.set()
                sender.join()
                snapshot.close()
        by_minute = list(minutes_of(list(claims.read(path)), start, minute))[: len(backlogs)]
        for index, (backlog, taken) in enumerate(zip(backlogs, by_minute, strict=False), start=1):
            p50, p99 = number(percentile(taken, 0.5)), number(percentile(taken, 0.99))
            print(f"minute {index}: claim p50 {p50} ms, p99 {p99} ms, longest backlog {backlog} jobs")
        results.add("jobs enqueued", load.sent / (minutes * minute), "jobs/s")
        for share in (0.5, 0.99):
            first = f"claim p{share * 100:.0f}, first minute"
            results.add(first, percentile(by_minute[0], share), "ms")
            last = f"claim p{share * 100:.0f}, last minute"
            results.add(last, percentile(by_minute[-1], share), "ms", against=first)
        results.add("longest backlog, first minute", backlogs[0], "jobs")
        results.add("longest backlog, last minute", backlogs[-1], "jobs")
        results.finish()


if __name__ == "__main__":
    main()

"""Adding jobs, one by one and in bulk: what does it cost beside the ORM's ``create`` and the raw driver?"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.harness.database import Database, own_database
from benchmarks.harness.options import read_options
from benchmarks.harness.results import Results

CREATE = "one row: Model.objects.create of the same row"
BULK_CREATE = "10,000 rows: bulk_create of the same rows"
RAW = "raw driver: one row"
RAW_BULK = "raw driver: 10,000 rows"
PAYLOAD = {"order_id": 42}

_numbers = itertools.count()


def times_a_second(function: Callable[[], Any], seconds: float) -> float:
    """How often ``function`` can be called in a second."""
    count, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        function()
        count += 1
    return count / elapsed


def rows_a_second(function: Callable[[int], Any], count: int) -> float:
    """Rows a second of one call for ``count`` rows."""
    start = time.perf_counter()
    function(count)
    return count / (time.perf_counter() - start)


def plain_row() -> dict[str, Any]:
    """The values of a job's row that have no default."""
    now = timezone.now()
    return {"type": "noop", "payload": PAYLOAD, "run_at": now, "created_at": now, "updated_at": now}


def with_key() -> dict[str, Any]:
    """A job with a key that no other has."""
    return {"type": "noop", "payload": PAYLOAD, "idempotency_key": f"key-{next(_numbers)}"}


def measure(database: Database, results: Results, seconds: float, bulk: int) -> None:
    """Each case once."""
    jobs, server = database.jobs, database.server
    plain = database.plain_rows

    def in_one_transaction() -> None:
        with transaction.atomic():
            for _ in range(100):
                jobs.enqueue("noop", PAYLOAD)

    results.add(RAW, server.raw_inserts(database.name, seconds=seconds), "rows/s")
    one: dict[str, Callable[[], Any]] = {
        CREATE: lambda: plain.objects.create(**plain_row()),
        "one job: enqueue": lambda: jobs.enqueue("noop", PAYLOAD),
        "one job: enqueue with a new key": lambda: jobs.enqueue(**with_key()),
        "one job: enqueue with a key that is taken": lambda: jobs.enqueue(
            "noop", {}, idempotency_key="taken"
        ),
    }
    for name, function in one.items():
        database.empty()
        function()
        against = RAW if name == CREATE else CREATE
        results.add(name, times_a_second(function, seconds), "jobs/s", against=against)
    database.empty()
    rate = 100 * times_a_second(in_one_transaction, seconds)
    results.add("one job: enqueue, 100 in a transaction", rate, "jobs/s", against=CREATE)

    results.add(RAW_BULK, server.raw_bulk(database.name, rows=bulk), "rows/s")
    many: dict[str, Callable[[int], Any]] = {
        BULK_CREATE: lambda count: plain.objects.bulk_create([plain(**plain_row()) for _ in range(count)]),
        "10,000 jobs: enqueue_many": lambda count: jobs.enqueue_many(
            [{"type": "noop", "payload": PAYLOAD} for _ in range(count)]
        ),
        "10,000 jobs: enqueue_many with new keys": lambda count: jobs.enqueue_many(
            [with_key() for _ in range(count)]
        ),
    }
    for name, call in many.items():
        database.empty()
        results.add(name, rows_a_second(call, bulk), "jobs/s", against=RAW_BULK)


def main(arguments: list[str] | None = None) -> None:
    """Measure round by round."""
    options = read_options("enqueue", __doc__, rounds=5, seconds=50, arguments=arguments)
    with own_database(options.database) as database:
        results = Results(options, database)
        for _ in options.timed_rounds():
            measure(database, results, 0.1 if options.quick else 0.7, 500 if options.quick else 10_000)
        results.finish()


if __name__ == "__main__":
    main()

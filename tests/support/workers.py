"""Workers inside the test's own process, for what needs no crash."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django_jobqueue.models import Job
from django_jobqueue.workers.loop import Worker
from django_jobqueue.workers.options import WorkerOptions


def worker(**options: Any) -> Worker:
    """A worker with short waits."""
    defaults = {"lease_seconds": 30.0, "poll_interval": 0.05, "shutdown_timeout": 10.0, "concurrency": 2}
    return Worker(Job.objects, WorkerOptions(**{**defaults, **options}))


def drain(**options: Any) -> Counter[str]:
    """Run what is there to an end and count the outcomes."""
    drained = worker(drain=True, **options)
    assert drained.run() == 0
    return drained.counts


@contextmanager
def running(**options: Any) -> Iterator[Worker]:
    """A worker in a thread, stopped at the end of the block."""
    started = worker(**options)
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(started.run()))
    thread.start()
    try:
        yield started
    finally:
        started.shutdown.request()
        thread.join(20)
    assert codes == [0]

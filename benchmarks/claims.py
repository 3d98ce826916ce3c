"""How long the worker's own claims take, seen from outside: each round trip of its hot path, in a file."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

from django_jobqueue.jobs.manager import JobManager


class Claim(NamedTuple):
    """When a claim began (Unix time), how long it took (both in seconds) and how many jobs it brought."""

    at: float
    seconds: float
    jobs: int


def record(path: str) -> None:
    """Have the claims of this process's workers written to ``path`` from now on."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    exchange = JobManager.exchange

    @wraps(exchange)
    def timed(*args: Any, **kwargs: Any) -> Any:
        at, start = time.time(), time.perf_counter()
        answer = exchange(*args, **kwargs)
        os.write(file, b"%.6f %.6f %d\n" % (at, time.perf_counter() - start, len(answer[1])))
        return answer

    JobManager.exchange = timed


def read(path: Path) -> Iterator[Claim]:
    """The claims recorded so far, in the order in which they ended."""
    for line in path.read_text().splitlines():
        at, seconds, jobs = line.split()
        yield Claim(float(at), float(seconds), int(jobs))

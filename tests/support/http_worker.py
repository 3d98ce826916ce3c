"""A worker over HTTP for tests: it writes down how each of its acknowledgements was answered."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from django_jobqueue.client import Claim, ClaimLost, JobQueue

LEASE = 2.0
WORK = 0.05
"""Seconds between a claim and its end: most of a worker's time, so that what stops it stops it there."""


def work(url: str, token: str, name: str, limit: int, log: str) -> None:
    """Claim and complete until SIGTERM, ``limit`` jobs at a time; one by one if it is 1.

    Appends lines to the file ``log``: ``ok``, ``already`` or ``claim_lost``, the job's id and the claim's token.
    """
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with JobQueue(url, token=token) as queue, Path(log).open("a", buffering=1) as lines:

        def note(claim: Claim, outcome: str) -> None:
            lines.write(f"{outcome} {claim.id} {claim.fencing_token}\n")

        while not stopped.is_set():
            claims = queue.claim_batch(name, limit, lease_seconds=LEASE)
            if not claims:
                stopped.wait(0.1)
                continue
            time.sleep(WORK)
            if limit == 1:
                note(claims[0], complete(queue, claims[0]))
            else:
                outcomes = queue.complete_batch([(claim, os.getpid()) for claim in claims])
                for claim, outcome in zip(claims, outcomes, strict=True):
                    note(claim, outcome)


def complete(queue: JobQueue, claim: Claim) -> str:
    try:
        queue.complete(claim, os.getpid())
    except ClaimLost:
        return "claim_lost"
    return "ok"

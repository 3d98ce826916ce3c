"""A long queue drained by workers that are killed all the time: no job is lost."""

from __future__ import annotations

import itertools
import signal
import time
from collections import Counter

import pytest
from django.db import connection
from django.db.models import Sum

from django_jobqueue.jobs.status import FINISHED, Status
from django_jobqueue.models import Job, JobAttempt
from tests.support.processes import Processes, kill, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]

# PostgreSQL takes tens of thousands of jobs a second; elsewhere, fewer, and each takes a moment, so that the
# queue lasts for several kills.
JOBS, JOB = {
    "postgresql": (100_000, {"type": "test.noop"}),
    "mysql": (5_000, {"type": "test.rest", "payload": {"seconds": 0.01}}),
    "sqlite": (5_000, {"type": "test.rest", "payload": {"seconds": 0.01}}),
}[connection.vendor]
CHUNK = 10_000
WORKERS = 4
QUICK = {"lease": 1.0, "poll_interval": 0.05, "concurrency": 4}

Claims = set[tuple[int, int]]


def claims_of(pid: int | None) -> Claims:
    """The jobs that a process holds, each with its fence."""
    held = Job.objects.filter(status="running", worker_id__contains=f":{pid}:")
    return set(held.values_list("pk", "fencing_token"))


def test_four_workers_of_which_two_are_killed_every_second_lose_no_job(processes: Processes):
    for begin in range(0, JOBS, CHUNK):
        Job.objects.enqueue_many([{**JOB, "max_retries": 100}] * min(CHUNK, JOBS - begin))
    crowd = [processes.worker(**QUICK) for _ in range(WORKERS)]
    turn = itertools.cycle(range(WORKERS))
    in_flight: Claims = set()

    def kill_next() -> None:
        number = next(turn)
        victim = crowd[number]
        kill(victim)
        victim.join(10)
        assert victim.exitcode == -signal.SIGKILL  # none had ended by itself
        in_flight.update(claims_of(victim.pid))
        crowd[number] = processes.worker(**QUICK)

    # The first kill waits for work, not for a time.
    wait_until(lambda: Job.objects.filter(status="completed").exists())
    kill_at = time.monotonic()

    def drained() -> bool:
        nonlocal kill_at
        if time.monotonic() >= kill_at:
            kill_at = time.monotonic() + 1.0
            kill_next()
            kill_next()
        return not Job.objects.exclude(status__in=FINISHED).exists()

    wait_until(drained, timeout=120, interval=0.1)
    for worker in crowd:
        kill(worker, signal.SIGTERM)
    for worker in crowd:
        worker.join(20)

    assert Counter(Job.objects.values_list("status", flat=True)) == {Status.COMPLETED: JOBS}
    lost = set(JobAttempt.objects.filter(outcome="lost").values_list("job", "fencing_token"))
    assert in_flight & lost  # else no kill hit work
    # Of a claim that was not lost the end was on its way to the database when its worker was killed.
    last_run = dict(Job.objects.values_list("pk", "fencing_token"))
    assert all(last_run[job] == token for job, token in in_flight - lost)
    assert all(last_run[job] > token for job, token in lost)
    assert Job.objects.aggregate(Sum("retry_count"))["retry_count__sum"] == len(lost)

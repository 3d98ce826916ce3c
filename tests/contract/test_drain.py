"""A crowd of workers over HTTP, killed and frozen all the time: nothing is lost, and who comes late is told."""

from __future__ import annotations

import itertools
import signal
import time
from collections import Counter

import pytest

from django_jobqueue.models import Job, JobAttempt
from tests.api.conftest import TYPE, make_caller
from tests.support.http_worker import LEASE, work
from tests.support.processes import kill, wait_until
from tests.support.wsgi import gunicorn

JOBS = 5000
WORKERS = 8


@pytest.mark.timeout(1800)
def test_8_workers_of_which_one_is_killed_every_second_drain_5000_jobs(processes, tmp_path):
    token = make_caller("worker", "work_job").token
    names = itertools.count()
    log = tmp_path / "acknowledgements"
    log.touch()
    frozen: list[tuple[float, object]] = []

    def enqueue():
        Job.objects.enqueue_many([{"type": TYPE, "max_retries": 1000}] * JOBS)

    enqueue()

    with gunicorn() as url:

        def start():
            number = next(names)
            return processes.start(work, url, token, f"w-{number}", (1, 10, 25)[number % 3], str(log))

        crowd = [start() for _ in range(WORKERS)]
        turn = itertools.cycle(range(WORKERS))
        disturb_at = time.monotonic() + 1

        def drained():
            nonlocal disturb_at
            Job.objects.reap()
            now = time.monotonic()
            while frozen and frozen[0][0] <= now:
                kill(frozen.pop(0)[1], signal.SIGCONT)
            if now >= disturb_at:
                disturb_at = now + 1
                killed = next(turn)
                kill(crowd[killed])
                crowd[killed] = start()
                if killed % 4 == 0:
                    paused = crowd[(killed + WORKERS // 2) % WORKERS]  # not killed before it goes on
                    kill(paused, signal.SIGSTOP)
                    frozen.append((now + 1.5 * LEASE, paused))
            if Job.objects.exclude(status="completed").exists():
                return False
            if "claim_lost" in log.read_text():
                return True
            enqueue()  # nobody who was frozen had a job in hand: once more
            return False

        wait_until(drained, timeout=1500, interval=0.05)
        for _, process in frozen:
            kill(process, signal.SIGCONT)
        for process in crowd:
            kill(process, signal.SIGTERM)
        for process in crowd:
            process.join(600)

    answered = [line.split() for line in log.read_text().splitlines()]
    done = Counter(job for outcome, job, _ in answered if outcome == "ok")
    assert Job.objects.filter(status="completed").count() == Job.objects.count() >= JOBS
    assert max(done.values()) == 1  # no success was taken from two workers
    # Whoever was refused had lost the job to the reaper with just this claim, and was told so.
    refused = {(int(job), int(token)) for outcome, job, token in answered if outcome == "claim_lost"}
    lost = set(JobAttempt.objects.filter(outcome="lost").values_list("job", "fencing_token"))
    assert refused
    assert refused <= lost

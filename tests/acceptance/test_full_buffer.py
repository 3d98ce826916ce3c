"""A worker that is killed or frozen when handlers have returned and none of their ends is written."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest

from django_jobqueue.models import Job, JobAttempt
from tests.support import child
from tests.support.models import Effect
from tests.support.processes import Processes, kill, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

FULL = 8
OPTIONS = {"lease": 1.0, "poll_interval": 0.05, "concurrency": FULL}

# With no more jobs to claim a worker only writes; otherwise it writes and claims in one go.
both_paths = pytest.mark.parametrize("max_jobs", [FULL, None], ids=["complete", "exchange"])


def enqueue(type: str) -> set[int]:
    return {item.job.pk for item in Job.objects.enqueue_many([{"type": type}] * FULL)}


@both_paths
def test_killed_between_handlers_and_write_these_jobs_run_again(processes: Processes, max_jobs: int | None):
    buffered = enqueue("test.effect")
    killed = processes.start(child.run_full_buffer, FULL, signal.SIGKILL, **OPTIONS, max_jobs=max_jobs)
    killed.join(20)
    assert killed.exitcode == -signal.SIGKILL
    assert Effect.objects.count() == FULL
    others = enqueue("test.effect")
    processes.worker(**OPTIONS)
    wait_until(lambda: Job.objects.filter(status="completed").count() == 2 * FULL)
    runs = Counter(Effect.objects.values_list("job", flat=True))
    assert runs == {**dict.fromkeys(buffered, 2), **dict.fromkeys(others, 1)}
    assert set(Job.objects.filter(retry_count=1).values_list("pk", flat=True)) == buffered
    assert set(JobAttempt.objects.filter(outcome="lost").values_list("job", flat=True)) == buffered


@both_paths
def test_frozen_before_the_write_every_late_end_is_refused(
    processes: Processes, max_jobs: int | None, tmp_path: Path
):
    jobs = enqueue("test.lasting_rerun")
    log = tmp_path / "worker.log"
    frozen = processes.start(
        child.run_full_buffer, FULL, signal.SIGSTOP, log=str(log), **OPTIONS, max_jobs=max_jobs
    )
    wait_until(lambda: Effect.objects.count() == FULL)
    processes.worker(**OPTIONS)
    wait_until(lambda: Effect.objects.count() == 2 * FULL)  # the second runs go on until they are told
    columns = ("pk", "status", "worker_id", "fencing_token", "retry_count")
    before = set(Job.objects.values_list(*columns))
    assert {row[1] for row in before} == {"running"}
    kill(frozen, signal.SIGCONT)
    wait_until(lambda: log.read_text().count("was taken away before its end was written") >= FULL)
    if max_jobs is None:  # the other one ends by itself
        kill(frozen, signal.SIGTERM)
    frozen.join(20)
    assert frozen.exitcode == 0
    lines = [line for line in log.read_text().splitlines() if "was taken away before" in line]
    assert Counter(int(line.split()[1]) for line in lines) == dict.fromkeys(jobs, 1)
    assert set(Job.objects.values_list(*columns)) == before
    Effect.objects.create(name="go")
    wait_until(lambda: Job.objects.filter(status="completed", fencing_token=2).count() == FULL)

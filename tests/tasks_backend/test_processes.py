"""Real workers: stopped while idle and while busy, killed, several at once."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from django_jobqueue.models import Job
from tests.support.models import Effect
from tests.support.processes import Processes, kill, wait_until
from tests.support.workers import drain
from tests.tasks_backend import tasks
from tests.tasks_backend.child import enqueue
from tests.tasks_backend.framework import READY, SUCCESSFUL

BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])


def finished(result: Any) -> bool:
    result.refresh()
    return bool(result.is_finished)


def test_a_worker_process_runs_a_task_to_its_end(processes: Processes):
    result = tasks.meaning_of_life.enqueue()
    worker = processes.worker(drain=True)
    worker.join(30)
    assert worker.exitcode == 0
    assert result.status == READY
    result.refresh()
    assert (result.status, result.return_value) == (SUCCESSFUL, 42)


@BOTH
def test_an_idle_worker_stops_within_half_a_second(number: int, processes: Processes):
    result = tasks.noop.enqueue()
    worker = processes.worker()
    wait_until(lambda: finished(result))
    asked = time.monotonic()
    kill(worker, number)
    worker.join(10)
    assert worker.exitcode == 0
    assert time.monotonic() - asked < 0.5


@BOTH
def test_a_busy_worker_finishes_its_task_and_stops(number: int, processes: Processes):
    result = tasks.effect.enqueue("started", seconds=0.7)
    worker = processes.worker()
    wait_until(Effect.objects.exists)
    kill(worker, number)
    worker.join(10)
    result.refresh()
    assert (worker.exitcode, result.status, result.attempts) == (0, SUCCESSFUL, 1)


def test_the_second_signal_gives_a_task_back_without_an_attempt(processes: Processes):
    result = tasks.effect.using(max_retries=0).enqueue("started", seconds=8)
    worker = processes.worker()
    wait_until(Effect.objects.exists)
    kill(worker, signal.SIGINT)
    wait_until(lambda: still_alive_after(worker, 0.2))
    kill(worker, signal.SIGINT)
    worker.join(10)
    result.refresh()
    assert (worker.exitcode, result.status, result.attempts) == (1, READY, 0)


def still_alive_after(worker: Any, seconds: float) -> bool:
    worker.join(seconds)
    return bool(worker.is_alive())


def test_the_task_of_a_killed_worker_runs_again_and_succeeds(processes: Processes):
    result = tasks.die_once.enqueue()
    first = processes.worker(lease=1.0)
    first.join(30)
    assert first.exitcode == -signal.SIGKILL
    processes.worker()
    wait_until(lambda: finished(result))
    assert (result.status, result.return_value, result.attempts) == (SUCCESSFUL, "survived", 2)
    assert [error.exception_class.__name__ for error in result.errors] == ["ClaimLost"]
    assert sorted(Effect.objects.values_list("name", flat=True)) == ["attempt 1", "attempt 2"]


def test_three_workers_run_thirty_tasks_once_each(processes: Processes):
    workers = [processes.worker(concurrency=1) for _ in range(3)]

    def all_at_work() -> bool:
        assert [worker.exitcode for worker in workers] == [None] * 3
        tasks.effect.enqueue("warm-up", seconds=0.2)  # comes four times as fast as one worker can run it
        return Effect.objects.values("pid").distinct().count() == 3

    wait_until(all_at_work, interval=0.05)
    results = [tasks.effect.enqueue(str(number), seconds=0.02) for number in range(30)]
    wait_until(lambda: not Job.objects.exclude(status="completed").exists())
    Effect.objects.filter(name="warm-up").delete()
    for worker in workers:
        kill(worker, signal.SIGTERM)
        worker.join(10)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert sorted(int(name) for name in Effect.objects.values_list("name", flat=True)) == list(range(30))
    for result in results:
        result.refresh()
    assert {(result.status, result.attempts) for result in results} == {(SUCCESSFUL, 1)}


def test_a_process_that_runs_nothing_enqueues_for_one_that_does(processes: Processes):
    producer = processes.start(enqueue, 3)
    producer.join(30)
    assert producer.exitcode == 0
    assert drain()["completed"] == 3

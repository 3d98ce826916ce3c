from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from django_jobqueue.models import Job
from django_jobqueue.vendors import Now
from tests.support.models import Effect
from tests.support.workers import drain
from tests.tasks_backend import tasks
from tests.tasks_backend.framework import FAILED, READY, SUCCESSFUL

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("task", [tasks.meaning_of_life, tasks.meaning_of_life_async], ids=["sync", "async"])
def test_a_task_runs_and_its_value_is_its_result(task: Any, run: Any):
    result = run(task.enqueue())
    assert (result.status, result.return_value, result.attempts) == (SUCCESSFUL, 42, 1)
    assert result.enqueued_at <= result.started_at <= result.finished_at


def test_one_worker_runs_tasks_and_handlers(run: Any):
    result, job = tasks.meaning_of_life.enqueue(), Job.objects.enqueue("test.echo", {"a": 1})
    run(result)
    assert (result.return_value, Job.objects.get(pk=job.pk).result) == (42, {"a": 1})


@pytest.mark.parametrize("task", [tasks.fail, tasks.fail_async], ids=["sync", "async"])
def test_a_task_that_raises_fails_with_its_exception(task: Any, run: Any):
    result = run(task.enqueue("as it happens"))
    [error] = result.errors
    assert (result.status, error.exception_class) == (FAILED, ValueError)
    assert error.traceback.startswith("Traceback (most recent call last):\n")
    assert error.traceback.endswith("ValueError: as it happens\n")


def test_an_exception_of_an_exception_fails_the_task(run: Any):
    [error] = run(tasks.fail_in_a_complex_way.enqueue()).errors
    assert error.exception_class is ValueError
    assert 'ValueError(ValueError("This task failed"))' in error.traceback


@pytest.mark.parametrize("task", [tasks.end, tasks.end_async], ids=["sync", "async"])
@pytest.mark.parametrize(
    "how, exception",
    [
        ("SystemExit", "SystemExit"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("Unreadable", "UnreadableError"),
    ],
)
def test_no_end_of_a_task_ends_the_worker(task: Any, how: str, exception: str, run: Any):
    ended, after = task.enqueue(how), tasks.meaning_of_life.enqueue()
    run(ended, after)
    assert (ended.status, ended.errors[0].exception_class.__name__) == (FAILED, exception)
    assert after.status == SUCCESSFUL


@pytest.mark.parametrize("kind", ["set", "nan", "nul", "surrogate", "keys", "object"])
def test_a_result_that_is_not_json_fails_the_task_for_good(kind: str, run: Any):
    result = run(tasks.give.enqueue(kind))
    [error] = result.errors
    assert (result.status, Effect.objects.count()) == (FAILED, 1)
    assert "The task returned, but its result" in error.traceback


@pytest.mark.parametrize("task", [tasks.succeed_at, tasks.succeed_at_async], ids=["sync", "async"])
@pytest.mark.parametrize("attempt", [1, 3])
def test_the_context_tells_of_this_and_earlier_attempts(task: Any, attempt: int, run: Any):
    result = run(task.enqueue(attempt))
    [worker] = set(result.worker_ids)
    assert result.return_value == {
        "attempt": attempt,
        "id": result.id,
        "status": "RUNNING",
        "args": [attempt],
        "worker_ids": [worker] * attempt,
        "errors": ["builtins.ValueError"] * (attempt - 1),
        "enqueued_at": result.enqueued_at.isoformat(),
        "ordered": True,
        "job": int(result.id),
    }
    assert result.attempts == attempt


def test_the_context_holds_the_job(run: Any):
    result = run(tasks.progress.enqueue())
    assert (result.status, Job.objects.get().progress) == (SUCCESSFUL, {"done": 1})


def test_a_task_is_retried_until_it_succeeds(run: Any):
    result = run(tasks.succeed_at.enqueue(3))
    assert (result.status, result.attempts, len(result.errors)) == (SUCCESSFUL, 3, 2)


def test_a_task_that_always_fails_is_retried_as_often_as_it_says(run: Any):
    result = run(tasks.fail_always.enqueue())
    assert (result.status, result.attempts, len(result.errors)) == (FAILED, 3, 3)


@pytest.mark.parametrize(
    "how, status, attempts",
    [("permanent", FAILED, 1), ("later", READY, 1), ("snooze", READY, 0), ("cancelled", FAILED, 1)],
)
def test_a_task_can_choose_its_end(how: str, status: str, attempts: int, run: Any):
    result = run(tasks.choose_end.enqueue(how))
    assert (result.status, result.attempts) == (status, attempts)


@pytest.mark.parametrize("task", [tasks.too_long, tasks.too_long_async], ids=["sync", "async"])
def test_a_task_past_its_timeout_ends_as_failed(task: Any, run: Any):
    result = run(task.enqueue())
    assert (result.status, result.errors[0].exception_class.__name__) == (FAILED, "JobTimedOut")


def test_a_timeout_chosen_for_a_call(run: Any):
    result = run(tasks.effect.using(timeout=0.1, max_retries=0).enqueue(seconds=0.4))
    assert result.errors[0].exception_class.__name__ == "JobTimedOut"


@pytest.mark.parametrize("task", [tasks.slow_to_retry, tasks.slow_by_function])
def test_a_tasks_backoff_delays_its_retry(task: Any, run: Any):
    result = run(task.enqueue())
    job = Job.objects.get()
    assert (result.status, job.status) == (READY, "scheduled")
    assert timedelta(seconds=590) < job.run_at - job.updated_at <= timedelta(seconds=600)


def test_tasks_run_by_priority_then_age():
    low = tasks.noop.using(priority=-2).enqueue()
    first, second = tasks.noop.enqueue(), tasks.noop.enqueue()
    future = tasks.noop.using(priority=100, run_after=datetime.now(UTC) + timedelta(hours=10)).enqueue()
    past = tasks.noop.using(priority=20, run_after=datetime.now(UTC) - timedelta(hours=2)).enqueue()
    claimed = Job.objects.claim_many(worker_id="worker-1", limit=10)
    assert [str(job.pk) for job in claimed] == [past.id, first.id, second.id, low.id]
    assert Job.objects.get(pk=future.id).status == "scheduled"


def test_a_task_whose_time_has_come_runs(run: Any):
    result = tasks.noop.using(run_after=datetime.now(UTC) + timedelta(hours=10)).enqueue()
    assert run(result).status == READY
    Job.objects.filter(pk=result.id).update(run_at=Now(-1))
    assert run(result).status == SUCCESSFUL


def test_a_worker_leaves_the_tasks_of_other_queues():
    mail, other = tasks.send_mail.enqueue(), tasks.noop.enqueue()
    drain(queues=("mail",))
    mail.refresh()
    other.refresh()
    assert (mail.status, other.status) == (SUCCESSFUL, READY)


def test_a_worker_stops_after_as_many_tasks_as_it_was_told():
    for _ in range(5):
        tasks.noop.enqueue()
    assert drain(max_jobs=2)["completed"] == 2
    assert Job.objects.filter(status="pending").count() == 3


def test_each_call_of_a_task_gets_its_own_arguments(run: Any):
    results = [tasks.echo.enqueue(number, key=number) for number in range(20)]
    run(*results)
    assert [result.return_value for result in results] == [
        {"args": [number], "kwargs": {"key": number}} for number in range(20)
    ]

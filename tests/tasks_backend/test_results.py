from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from django_jobqueue import constant
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.models import Job
from tests.support.rows import IN_AN_HOUR
from tests.tasks_backend import tasks
from tests.tasks_backend.framework import (
    FAILED,
    READY,
    RUNNING,
    SUCCESSFUL,
    TaskResultDoesNotExist,
    TaskResultMismatch,
    default_task_backend,
)

pytestmark = pytest.mark.django_db

ERROR = Failure(error="ValueError: boom", exception_class="builtins.ValueError", traceback="Traceback: boom")


def claim(worker_id: str = "worker-1") -> Job:
    job = Job.objects.claim(worker_id=worker_id)
    assert job is not None
    return job


def fail(worker_id: str = "worker-1", failure: Failure = ERROR) -> Job:
    """One attempt that fails."""
    job = claim(worker_id)
    return Job.objects.retry_or_fail(job.pk, failure, fencing_token=job.fencing_token)


def test_get_result_gives_what_enqueue_gave():
    result = tasks.noop.enqueue(1, two=[3])
    assert default_task_backend.get_result(result.id) == result
    assert tasks.noop.get_result(result.id) == result


def test_get_result_from_async_code():
    result = tasks.noop.enqueue()
    assert async_to_sync(default_task_backend.aget_result)(result.id) == result
    assert async_to_sync(tasks.noop.aget_result)(result.id) == result


@pytest.mark.parametrize(
    "choose",
    [
        lambda task: task.using(priority=7, queue_name="mail"),
        lambda task: task.using(backend="any", queue_name="other"),
        lambda task: task.using(run_after=datetime.now(UTC) + IN_AN_HOUR),
        lambda task: task.using(max_retries=0, timeout=5, atomic=True),
        lambda task: task.using(backoff=constant(5)),
        lambda task: task.using(backoff="tests.tasks_backend.tasks.ten_minutes"),
        lambda task: task.using(idempotency_key="one"),
    ],
    ids=["queue", "backend", "run_after", "options", "backoff", "backoff by path", "key"],
)
def test_the_task_of_a_result_is_the_one_that_was_enqueued(choose: Callable[[Any], Any]):
    result = choose(tasks.noop).enqueue()
    assert default_task_backend.get_result(result.id).task == result.task


def test_get_result_is_one_query(django_assert_num_queries: Any):
    result = tasks.noop.enqueue()
    with django_assert_num_queries(1):
        default_task_backend.get_result(result.id)


@pytest.mark.parametrize(
    "id", ["0", "999999999", str(2**63), "9" * 30, "-1", "abc", "", "1.0", "٣", " 1", "None"]
)
def test_an_id_of_no_result_is_told_so(id: str):
    with pytest.raises(TaskResultDoesNotExist):
        default_task_backend.get_result(id)


def test_an_id_of_no_result_is_told_async_code():
    with pytest.raises(TaskResultDoesNotExist):
        async_to_sync(default_task_backend.aget_result)("123")


def test_a_job_that_is_no_task_has_no_result():
    job = Job.objects.enqueue("test.noop")
    with pytest.raises(TaskResultDoesNotExist):
        default_task_backend.get_result(str(job.pk))


def test_a_result_of_another_task_is_refused():
    result = tasks.noop.enqueue()
    with pytest.raises(TaskResultMismatch, match="Task does not match"):
        tasks.echo.get_result(result.id)
    with pytest.raises(TaskResultMismatch, match="Task does not match"):
        async_to_sync(tasks.echo.aget_result)(result.id)


def test_a_scheduled_job_is_ready():
    result = tasks.noop.using(run_after=datetime.now(UTC) + IN_AN_HOUR).enqueue()
    result.refresh()
    assert (result.status, result.attempts) == (READY, 0)


def test_a_running_job():
    result = tasks.noop.enqueue()
    job = claim()
    result.refresh()
    assert (result.status, result.is_finished, result.finished_at) == (RUNNING, False, None)
    assert (result.started_at, result.last_attempted_at) == (job.claimed_at, job.claimed_at)
    assert (result.worker_ids, result.attempts) == (["worker-1"], 1)


def test_a_completed_job():
    result = tasks.meaning_of_life.enqueue()
    job = Job.objects.complete(claim().pk, result=42)
    result.refresh()
    assert (result.status, result.is_finished, result.return_value) == (SUCCESSFUL, True, 42)
    assert (result.started_at, result.finished_at) == (job.claimed_at, job.finished_at)
    assert (result.worker_ids, result.errors) == (["worker-1"], [])


def test_a_failed_job():
    result = tasks.fail.enqueue()
    job = fail()
    result.refresh()
    assert (result.status, result.is_finished) == (FAILED, True)
    assert (result.started_at, result.finished_at) == (job.claimed_at, job.finished_at)
    assert result.worker_ids == ["worker-1"]
    [error] = result.errors
    assert (error.exception_class, error.traceback) == (ValueError, "Traceback: boom")
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value


def test_a_job_that_waits_for_its_retry():
    result = tasks.fail_always.enqueue()
    first = claim()
    Job.objects.retry_or_fail(first.pk, ERROR, fencing_token=first.fencing_token)
    result.refresh()
    assert (result.status, result.is_finished, result.finished_at) == (READY, False, None)
    assert (result.started_at, result.last_attempted_at) == (first.claimed_at, first.claimed_at)
    assert (result.worker_ids, len(result.errors)) == (["worker-1"], 1)


def test_a_second_attempt_that_runs():
    result = tasks.fail_always.enqueue()
    first = claim("worker-1")
    Job.objects.retry_or_fail(first.pk, ERROR, fencing_token=first.fencing_token)
    second = claim("worker-2")
    result.refresh()
    assert (result.status, result.worker_ids, result.attempts) == (RUNNING, ["worker-1", "worker-2"], 2)
    assert (result.started_at, result.last_attempted_at) == (first.claimed_at, second.claimed_at)


def test_a_second_attempt_that_succeeded():
    result = tasks.fail_always.enqueue()
    fail("worker-1")
    Job.objects.complete(claim("worker-2").pk)
    result.refresh()
    assert (result.status, result.worker_ids, len(result.errors)) == (SUCCESSFUL, ["worker-1", "worker-2"], 1)


def test_a_last_attempt_that_failed_counts_once():
    result = tasks.fail_always.enqueue()
    for worker in ("a", "b", "c"):
        fail(worker)
    result.refresh()
    assert (result.status, result.worker_ids, len(result.errors)) == (FAILED, ["a", "b", "c"], 3)


def test_a_claim_that_was_given_back_counts_no_attempt():
    result = tasks.noop.enqueue()
    Job.objects.release(claim().pk)
    result.refresh()
    assert (result.status, result.attempts, result.started_at) == (READY, 0, None)


def test_a_failed_job_that_a_person_retries():
    result = tasks.fail.enqueue()
    Job.objects.retry(fail("worker-1").pk)
    result.refresh()
    assert (result.status, result.attempts, len(result.errors)) == (READY, 1, 1)
    claim("worker-2")
    result.refresh()
    assert (result.status, result.worker_ids) == (RUNNING, ["worker-1", "worker-2"])


def test_a_job_whose_worker_was_lost_names_that_as_its_error():
    result = tasks.fail.enqueue()
    job = claim()
    Job.objects.filter(pk=job.pk).update(lease_expires_at=job.claimed_at)
    Job.objects.reap()
    result.refresh()
    [error] = result.errors
    assert (result.status, error.exception_class.__name__) == (FAILED, "ClaimLost")
    assert "worker-1 stopped renewing its lease" in error.traceback


def test_a_cancelled_job_is_failed_and_says_so():
    result = tasks.noop.enqueue()
    Job.objects.cancel(int(result.id))
    result.refresh()
    [error] = result.errors
    assert (result.status, result.is_finished, result.attempts) == (FAILED, True, 0)
    assert error.exception_class.__name__ == "Cancelled"


def test_a_running_job_that_was_cancelled_has_one_error():
    result = tasks.noop.enqueue()
    Job.objects.cancel(claim().pk)
    Job.objects.fail(int(result.id), error="stopped", fencing_token=1)
    result.refresh()
    assert (result.status, result.attempts, len(result.errors)) == (FAILED, 1, 1)


@pytest.mark.parametrize("end", ["pending", "running", "completed", "released", "snoozed"])
def test_refresh_is_one_query_where_nothing_failed(end: str, django_assert_num_queries: Any):
    result = tasks.noop.enqueue()
    if end != "pending":
        claim()
    if end == "completed":
        Job.objects.complete(int(result.id))
    elif end == "released":
        Job.objects.release(int(result.id))
    elif end == "snoozed":
        Job.objects.release(int(result.id), delay=60)
    with django_assert_num_queries(1):
        result.refresh()


@pytest.mark.parametrize("end", ["pending", "running", "completed", "failed"])
def test_refresh_is_two_queries_where_attempts_failed(end: str, django_assert_num_queries: Any):
    task = tasks.fail if end == "failed" else tasks.fail_always
    result = task.enqueue()
    fail()
    if end in ("running", "completed"):
        claim("worker-2")
    if end == "completed":
        Job.objects.complete(int(result.id))
    with django_assert_num_queries(2):
        result.refresh()
    assert len(result.errors) == 1


def test_refresh_from_async_code():
    result = tasks.meaning_of_life.enqueue()
    Job.objects.complete(claim().pk, result=42)
    async_to_sync(result.arefresh)()
    assert (result.status, result.return_value) == (SUCCESSFUL, 42)


def test_a_result_that_was_pruned_is_gone():
    result = tasks.noop.enqueue()
    kept = tasks.noop.using(run_after=datetime.now(UTC) + IN_AN_HOUR).enqueue()
    Job.objects.complete(claim().pk)
    assert Job.objects.prune(older_than=0) == 1
    kept.refresh()
    with pytest.raises(TaskResultDoesNotExist):
        result.refresh()


def test_errors_come_with_an_exception_class_that_can_be_imported():
    result = tasks.fail.enqueue()
    Job.objects.fail(claim().pk, error="told over HTTP")
    result.refresh()
    [error] = result.errors
    assert (error.exception_class.__name__, error.traceback) == ("JobQueueError", "told over HTTP")

"""How a handler may end, seen through a worker that runs in this process."""

from __future__ import annotations

import pytest

from django_jobqueue.models import Job, JobAttempt
from tests.support.jobs import ILL_BEHAVIOUR
from tests.support.models import Effect
from tests.support.workers import drain

pytestmark = pytest.mark.django_db(transaction=True)


def ended(type: str, **payload: object) -> Job:
    job = Job.objects.enqueue(type, payload, max_retries=0)
    drain()
    return Job.objects.get(pk=job.pk)


def test_a_return_value_is_the_result():
    job = ended("test.echo", a=[1, {"b": None}])
    assert (job.status, job.result) == ("completed", {"a": [1, {"b": None}]})


def test_an_async_handler_runs_and_returns_its_result():
    job = ended("test.async_effect", name="from async")
    assert (job.status, job.result) == ("completed", "slept")
    assert Effect.objects.get().name == "from async"


def test_an_exception_fails_the_job_with_its_class_message_and_traceback():
    job = ended("test.fail", message="no paper")
    attempt = JobAttempt.objects.get(job=job)
    assert (job.status, job.error) == ("failed", "RuntimeError: no paper")
    assert (attempt.outcome, attempt.exception_class) == ("failed", "builtins.RuntimeError")
    assert "raise RuntimeError(message)" in attempt.traceback


def test_a_failed_job_runs_again_until_its_retries_are_used_up():
    job = Job.objects.enqueue("test.fail", max_retries=2)
    drain()
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count, job.attempts.count()) == ("failed", 2, 3)


def test_a_permanent_failure_uses_no_retry():
    job = Job.objects.enqueue("test.permanent", max_retries=5)
    drain()
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count, job.error) == ("failed", 0, "PermanentFailure: never again")


def test_retry_later_counts_a_retry_and_waits():
    job = Job.objects.enqueue("test.retry_later", {"delay": 600})
    drain()
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count) == ("scheduled", 1)
    assert 590 < (job.run_at - job.updated_at).total_seconds() <= 600


def test_snooze_counts_no_retry_and_leaves_no_attempt():
    job = Job.objects.enqueue("test.snooze", {"delay": 600})
    drain()
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count, job.attempts.count()) == ("scheduled", 0, 0)


def test_the_handlers_backoff_delays_the_retry():
    job = Job.objects.enqueue("test.slow_backoff")
    drain()
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count) == ("scheduled", 1)


def test_a_progress_report_is_stored():
    assert ended("test.progress").progress == {"done": 1}


def test_an_unknown_type_is_given_back_with_a_reason_and_a_delay():
    job = ended("test.nobody_knows_this")
    assert (job.status, job.retry_count) == ("scheduled", 0)
    assert "No handler for the type 'test.nobody_knows_this'" in job.error


@pytest.mark.parametrize("type", ["test.timeout", "test.async_timeout"])
def test_a_handler_past_its_timeout_is_ended_and_recorded(type: str):
    job = ended(type)
    assert (job.status, job.attempts.get().outcome) == ("failed", "timed_out")


def test_a_timeout_cannot_be_swallowed_by_catching_exception():
    assert ended("test.timeout", swallow=True).attempts.get().outcome == "timed_out"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("set", "result: set is not JSON"),
        ("nan", "nan is not JSON"),
        ("huge", "at most 65536 are allowed"),
        ("nul", "must not contain the NUL character"),
    ],
)
def test_a_result_that_cannot_be_stored_fails_the_job_for_good(kind: str, reason: str):
    job = Job.objects.enqueue("test.result", {"kind": kind}, max_retries=3)
    drain()
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count) == ("failed", 0)
    assert reason in job.error


@pytest.mark.parametrize("how", sorted(ILL_BEHAVIOUR))
def test_nothing_a_handler_does_reaches_the_next_job(how: str):
    bad = Job.objects.enqueue("test.misbehave", {"how": how}, max_retries=0)
    after = Job.objects.enqueue("test.surroundings")
    counts = drain(concurrency=1)
    assert counts.total() == 2
    assert Job.objects.get(pk=bad.pk).status in ("completed", "failed")
    assert Job.objects.get(pk=after.pk).result == {
        "language": "en-us",
        "timezone": "UTC",
        "in_transaction": False,
        "autocommit": True,
        "answer": 1,
    }


@pytest.mark.parametrize("how", ["open transaction", "raw transaction"])
def test_a_transaction_left_open_is_rolled_back_and_the_job_says_so(how: str):
    job = ended("test.misbehave", how=how)
    assert job.status == "failed"
    assert "transaction open" in job.error
    assert not Effect.objects.exists()

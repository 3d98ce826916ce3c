"""The rule of what follows a failure, as a pure function."""

from __future__ import annotations

import pytest

from django_jobqueue.backoff import MAX_DELAY, constant, linear
from django_jobqueue.jobs.retry_policy import Decision, Failure, decide


def after(failure=None, *, retry_count=0, max_retries=3, cancel_requested=False, backoff=None):
    return decide(
        failure or Failure(error="boom"),
        retry_count=retry_count,
        max_retries=max_retries,
        cancel_requested=cancel_requested,
        backoff=backoff,
    )


@pytest.mark.parametrize(
    ("retry_count", "max_retries", "decision"),
    [
        (0, 3, Decision("pending", 1)),
        (1, 3, Decision("pending", 2)),
        (2, 3, Decision("pending", 3)),
        (3, 3, Decision("failed", 3)),
        (0, 1, Decision("pending", 1)),
        (1, 1, Decision("failed", 1)),
        (0, 0, Decision("failed", 0)),
        (999, 1000, Decision("pending", 1000)),
        (1000, 1000, Decision("failed", 1000)),
    ],
)
def test_a_job_is_retried_as_often_as_it_may(retry_count, max_retries, decision):
    assert after(retry_count=retry_count, max_retries=max_retries) == decision


@pytest.mark.parametrize("outcome", ["failed", "timed_out", "lost"])
def test_errors_timeouts_and_crashes_count_alike(outcome):
    failure = Failure(error="boom", outcome=outcome)
    decisions = after(failure, retry_count=1), after(failure, retry_count=3)
    assert decisions == (Decision("pending", 2), Decision("failed", 3))


def test_a_failure_that_is_not_retryable_fails_the_job_with_retries_left():
    assert after(Failure(error="boom", retryable=False)) == Decision("failed", 0)


@pytest.mark.parametrize("retry_count", [0, 3])
@pytest.mark.parametrize("retryable", [True, False])
def test_a_requested_cancel_goes_before_any_retry(retry_count, retryable):
    failure = Failure(error="boom", retryable=retryable)
    decision = after(failure, retry_count=retry_count, cancel_requested=True)
    assert decision == Decision("cancelled", retry_count)


def test_a_handler_may_end_as_cancelled_without_a_request():
    assert after(Failure(error="stopped", outcome="cancelled")) == Decision("cancelled", 0)


@pytest.mark.parametrize(("retry_count", "delay"), [(0, 10.0), (1, 20.0), (2, 25.0)])
def test_the_backoff_is_asked_for_the_number_of_the_retry(retry_count, delay):
    decision = after(retry_count=retry_count, backoff=linear(10, cap=25))
    assert decision == Decision("scheduled", retry_count + 1, delay)


def test_a_backoff_of_nothing_is_pending_at_once():
    assert after(backoff=constant(0)) == Decision("pending", 1)


def test_the_failure_may_name_the_delay_itself():
    assert after(Failure(error="boom", retry_in=5.0), backoff=constant(60)) == Decision("scheduled", 1, 5.0)


def test_the_failure_may_name_no_delay_against_the_backoff():
    assert after(Failure(error="boom", retry_in=0), backoff=constant(60)) == Decision("pending", 1)


def test_the_last_failure_waits_for_nothing():
    failure = Failure(error="boom", retry_in=5.0)
    assert after(failure, retry_count=3, backoff=constant(60)) == Decision("failed", 3)


def test_a_delay_is_capped():
    assert after(backoff=lambda retry: 1e300) == Decision("scheduled", 1, MAX_DELAY)

"""Recording a failure cannot itself fail."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_jobqueue.jobs.limits import ERROR_LENGTH, shorten
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.models import Job, JobAttempt
from tests.support.rows import claimed

anything = st.text(
    st.characters(categories=None) | st.sampled_from(["\0", "\ud800", "\udfff", "\U0010ffff", "😀", "\\"]),
    max_size=40,
) | st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=3), st.integers(0, 20_000))

quickly = settings(
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def recorded(failure: Failure) -> tuple[Job, JobAttempt]:
    job = claimed()
    Job.objects.retry_or_fail(job.pk, failure, fencing_token=job.fencing_token)
    Job.objects.cancel(job.pk)
    return Job.objects.get(pk=job.pk), JobAttempt.objects.get(job=job.pk)


@quickly
@given(error=anything, exception_class=anything, traceback=anything)
def test_any_text_is_recorded_and_the_attempt_is_counted(jobs: Any, error, exception_class, traceback):
    job, attempt = recorded(Failure(error=error, exception_class=exception_class, traceback=traceback))
    assert (job.retry_count, job.status) == (1, "cancelled")
    assert job.error == (shorten(error) or "failed")
    assert attempt.message == shorten(error)
    assert attempt.exception_class == shorten(exception_class, 255)
    assert attempt.traceback == shorten(traceback, 4 * ERROR_LENGTH)


@quickly
@given(reason=anything)
def test_any_reason_of_a_release_is_kept(jobs: Any, reason):
    job = claimed()
    jobs.release(job.pk, fencing_token=job.fencing_token, reason=reason)
    jobs.cancel(job.pk)
    assert jobs.get(pk=job.pk).error == shorten(reason)


@pytest.mark.parametrize("character", ["x", "é", "😀", "\0", "\ud800"])
def test_a_megabyte_is_shortened(jobs, character):
    text = "first" + character * 1_000_000 + "last"
    job, attempt = recorded(Failure(error=text, exception_class=text, traceback=text))
    for kept, length in (
        (job.error, ERROR_LENGTH),
        (attempt.message, ERROR_LENGTH),
        (attempt.exception_class, 255),
        (attempt.traceback, 4 * ERROR_LENGTH),
    ):
        assert len(kept) == length
        assert kept.startswith("first")
        assert kept.endswith("last")
        assert " […] " in kept


def test_nul_and_lone_surrogates_are_written_out(jobs):
    job, _ = recorded(Failure(error="a\0b\ud800c"))
    assert job.error == "a\\x00b\\ud800c"


def test_a_failure_without_a_text_has_a_reason_all_the_same(jobs):
    job, attempt = recorded(Failure(error=""))
    assert (job.error, attempt.message) == ("failed", "")


@given(text=anything, length=st.integers(10, 300))
def test_a_shortened_text_is_no_longer_than_it_may_be(text, length):
    short = shorten(text, length)
    assert len(short) <= length
    assert "\0" not in short
    assert short.encode().decode() == short


@given(text=st.text(max_size=200))
def test_a_text_that_every_database_holds_is_not_changed(text):
    assert shorten(text.replace("\0", "")) == text.replace("\0", "")

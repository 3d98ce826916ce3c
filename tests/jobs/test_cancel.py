"""scheduled | pending -> cancelled; running: a request."""

from __future__ import annotations

import pytest

from tests.support.rows import claimed, expire, job_in

ENDS = {
    "fail": lambda jobs, job: jobs.fail(job.pk, error="boom", fencing_token=job.fencing_token),
    "fail without retries": lambda jobs, job: jobs.fail(job.pk, error="boom", retryable=False),
    "fail with a delay": lambda jobs, job: jobs.fail(job.pk, error="boom", retry_in=60),
    "release": lambda jobs, job: jobs.release(job.pk, fencing_token=job.fencing_token),
    "snooze": lambda jobs, job: jobs.release(job.pk, delay=60),
    "reap": lambda jobs, job: [expire(job.pk), *jobs.reap()][1],
}


@pytest.mark.parametrize("status", ["scheduled", "pending"])
def test_a_waiting_job_is_cancelled_at_once(jobs, status):
    job = jobs.cancel(job_in(status).pk)
    assert (job.status, job.finished_at is not None) == ("cancelled", True)
    assert jobs.claim(worker_id="worker-1") is None


def test_a_running_job_is_only_asked(jobs):
    job = claimed()
    asked = jobs.cancel(job.pk)
    assert (asked.status, asked.finished_at) == ("running", None)
    assert asked.cancel_requested_at is not None
    assert asked.lease_expires_at == job.lease_expires_at


def test_asking_again_keeps_the_first_time(jobs):
    job = claimed()
    first = jobs.cancel(job.pk)
    assert jobs.cancel(job.pk).cancel_requested_at == first.cancel_requested_at


@pytest.mark.parametrize("end", ENDS)
def test_a_running_job_that_was_asked_ends_as_cancelled(jobs, end):
    job = claimed()
    jobs.cancel(job.pk)
    after = ENDS[end](jobs, job)
    assert (after.status, after.retry_count, after.lease_expires_at) == ("cancelled", 0, None)
    assert after.finished_at is not None


def test_a_job_that_succeeds_all_the_same_is_completed(jobs):
    job = claimed()
    jobs.cancel(job.pk)
    assert jobs.complete(job.pk, fencing_token=1).status == "completed"


def test_a_retry_forgets_the_request(jobs):
    job = claimed()
    jobs.cancel(job.pk)
    jobs.fail(job.pk, error="boom", fencing_token=1)
    jobs.retry(job.pk)
    again = jobs.claim(worker_id="worker-2")
    assert again.cancel_requested_at is None
    assert jobs.fail(job.pk, error="boom", fencing_token=2).status == "pending"

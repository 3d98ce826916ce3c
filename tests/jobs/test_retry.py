"""failed | cancelled -> pending: one more run, asked for by a person."""

from __future__ import annotations

import pytest

from tests.support.rows import claimed, job_in


def test_a_failed_job_runs_once_more(jobs):
    job = claimed(max_retries=1)
    jobs.fail(job.pk, error="boom", fencing_token=1)
    jobs.claim(worker_id="worker-1")
    failed = jobs.fail(job.pk, error="boom", fencing_token=2)
    assert (failed.status, failed.retry_count) == ("failed", 1)
    again = jobs.retry(job.pk)
    assert (again.status, again.retry_count, again.error) == ("pending", 1, "boom")
    jobs.claim(worker_id="worker-1")
    assert jobs.fail(job.pk, error="boom", fencing_token=3).status == "failed"


def test_a_job_that_failed_for_good_has_its_retries_left(jobs):
    job = job_in("failed")
    assert jobs.retry(job.pk).retry_count == 0
    jobs.claim(worker_id="worker-1")
    assert jobs.fail(job.pk, error="boom", fencing_token=2).status == "pending"


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_retried_job_looks_like_a_waiting_one(jobs, status):
    job = jobs.retry(job_in(status).pk)
    assert (job.status, job.finished_at, job.cancel_requested_at) == ("pending", None, None)
    assert (job.worker_id, job.claimed_by, job.claimed_at, job.lease_expires_at) == ("", "", None, None)
    assert job.run_at == job.updated_at


def test_the_attempts_stay(jobs):
    job = job_in("failed")
    jobs.retry(job.pk)
    assert [attempt.number for attempt in job.attempts.all()] == [1]
    jobs.claim(worker_id="worker-1")
    jobs.fail(job.pk, error="boom", fencing_token=2)
    assert [attempt.number for attempt in job.attempts.all()] == [1, 2]


def test_the_claim_before_the_retry_stays_lost(jobs):
    from django_jobqueue.exceptions import ClaimLost

    job = job_in("failed")
    jobs.retry(job.pk)
    with pytest.raises(ClaimLost):
        jobs.complete(job.pk, fencing_token=1)

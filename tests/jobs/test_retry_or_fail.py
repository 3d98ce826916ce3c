"""running -> pending | scheduled | failed | cancelled, as the holder of the claim tells it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_jobqueue import constant, exponential, linear
from django_jobqueue.backoff import MAX_DELAY
from django_jobqueue.jobs.pending.take import Wanted
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.models import JobAttempt
from django_jobqueue.vendors import Claim, HeldClaim
from tests.support.rows import claimed


def five_minutes(retry):
    return 300.0


def broken(retry):
    raise ZeroDivisionError


def no_number(retry):
    return "soon"


def past_every_float(retry):
    return 10**400


def fail(jobs, job, **options):
    return jobs.fail(job.pk, error="boom", fencing_token=job.fencing_token, **options)


def delay_of(job):
    return (job.run_at - job.updated_at).total_seconds()


def test_a_failed_job_with_retries_left_is_pending_at_once(jobs):
    job = fail(jobs, claimed())
    assert (job.status, job.retry_count, job.error) == ("pending", 1, "boom")
    assert (job.worker_id, job.claimed_by, job.claimed_at, job.lease_expires_at) == ("", "", None, None)
    assert job.finished_at is None


def test_the_error_is_kept_through_the_next_run(jobs):
    fail(jobs, claimed())
    job = jobs.claim(worker_id="worker-2")
    assert job.error == "boom"
    assert jobs.complete(job.pk, fencing_token=2).error == ""


@pytest.mark.parametrize("complete", ["complete_many", "exchange"])
def test_a_job_that_has_completed_has_no_error_and_keeps_its_attempts(jobs, complete):
    fail(jobs, claimed())
    job = jobs.claim(worker_id="worker-2")
    if complete == "complete_many":
        assert jobs.complete_many([(job.pk, 2, None)]) == {job.pk}
    else:
        done, _ = jobs.exchange(
            [HeldClaim(job.pk, 2)],
            Claim(worker_id="w", claimed_by="", lease_seconds=60.0),
            Wanted(1, ("default",)),
        )
        assert done == {job.pk}
    after = jobs.get(pk=job.pk)
    assert (after.status, after.error) == ("completed", "")
    assert [attempt.message for attempt in after.attempts.all()] == ["boom"]


def test_the_latest_error_replaces_the_one_before(jobs):
    fail(jobs, claimed())
    job = jobs.claim(worker_id="worker-2")
    assert jobs.fail(job.pk, error="bang", fencing_token=2).error == "bang"


def test_three_retries_are_four_runs(jobs):
    job = claimed()
    ends = []
    while job is not None:
        job = fail(jobs, job)
        ends.append((job.status, job.retry_count))
        job = jobs.claim(worker_id="worker-1")
    assert ends == [("pending", 1), ("pending", 2), ("pending", 3), ("failed", 3)]


def test_a_job_without_retries_runs_once(jobs):
    job = fail(jobs, claimed(max_retries=0))
    assert (job.status, job.retry_count) == ("failed", 0)
    assert job.finished_at is not None
    assert (job.worker_id, job.lease_expires_at) == ("worker-1", None)


def test_a_permanent_failure_uses_no_retry(jobs):
    job = fail(jobs, claimed(), retryable=False)
    assert (job.status, job.retry_count) == ("failed", 0)


def test_the_worker_may_name_the_delay(jobs):
    job = fail(jobs, claimed(backoff=constant(5)), retry_in=90)
    assert (job.status, job.retry_count, delay_of(job)) == ("scheduled", 1, 90.0)


def test_each_failed_attempt_is_recorded(jobs):
    for number in (1, 2):
        job = claimed() if number == 1 else jobs.claim(worker_id="worker-2")
        failure = Failure(error=f"boom {number}", exception_class="shop.Bounced", traceback="Traceback ...")
        jobs.retry_or_fail(job.pk, failure, fencing_token=job.fencing_token)
    attempts = JobAttempt.objects.filter(job=job.pk).values_list(
        "number", "worker_id", "outcome", "message", "exception_class", "traceback", "fencing_token"
    )
    assert list(attempts) == [
        (1, "worker-1", "failed", "boom 1", "shop.Bounced", "Traceback ...", 1),
        (2, "worker-2", "failed", "boom 2", "shop.Bounced", "Traceback ...", 2),
    ]


def test_an_attempt_has_the_times_of_the_claim_and_of_its_end(jobs):
    job = claimed()
    after = fail(jobs, job)
    attempt = JobAttempt.objects.get(job=job.pk)
    assert (attempt.started_at, attempt.ended_at) == (job.claimed_at, after.updated_at)


@pytest.mark.parametrize("outcome", ["failed", "timed_out", "lost"])
def test_the_kind_of_failure_is_recorded(jobs, outcome):
    job = claimed()
    jobs.retry_or_fail(job.pk, Failure(error="boom", outcome=outcome), fencing_token=1)
    assert JobAttempt.objects.get(job=job.pk).outcome == outcome


def test_a_handler_may_end_as_cancelled(jobs):
    job = claimed()
    after = jobs.retry_or_fail(job.pk, Failure(error="stopped", outcome="cancelled"), fencing_token=1)
    assert (after.status, after.retry_count, JobAttempt.objects.get().outcome) == (
        "cancelled",
        0,
        "cancelled",
    )


@pytest.mark.parametrize(
    ("backoff", "delay"),
    [(constant(40), 40.0), (linear(15, cap=60), 15.0), (exponential(8, jitter=0), 8.0),
     ("tests.jobs.test_retry_or_fail.five_minutes", 300.0)],
)  # fmt: skip
def test_a_jobs_own_backoff_schedules_its_retry(jobs, backoff, delay):
    job = fail(jobs, claimed(backoff=backoff))
    assert (job.status, delay_of(job)) == ("scheduled", delay)


def test_the_delay_grows_with_each_retry(jobs):
    job = claimed(backoff=exponential(4, jitter=0))
    delays = []
    for _ in range(3):
        delays.append(delay_of(fail(jobs, job)))
        jobs.run_now(job.pk)
        job = jobs.claim(worker_id="worker-1")
    assert delays == [4.0, 8.0, 16.0]


def test_a_handlers_backoff_is_for_jobs_that_name_none(jobs, handler):
    handler("test.slow", backoff=constant(20))
    jobs.enqueue("test.slow")
    assert delay_of(fail(jobs, jobs.claim(worker_id="worker-1"))) == 20.0


def test_a_jobs_backoff_goes_before_its_handlers(jobs, handler):
    handler("test.slow", backoff=constant(20))
    jobs.enqueue("test.slow", backoff=constant(7))
    assert delay_of(fail(jobs, jobs.claim(worker_id="worker-1"))) == 7.0


@pytest.mark.parametrize(
    "backoff", [constant(33), five_minutes, "tests.jobs.test_retry_or_fail.five_minutes"]
)
def test_the_settings_backoff_is_for_all_others(jobs, settings, backoff):
    settings.JOBQUEUE = {"RETRY_BACKOFF": backoff}
    assert delay_of(fail(jobs, claimed())) == (
        33.0 if not isinstance(backoff, str) and backoff(1) == 33 else 300.0
    )


def test_a_handlers_backoff_goes_before_the_settings(jobs, handler, settings):
    settings.JOBQUEUE = {"RETRY_BACKOFF": constant(33)}
    handler("test.slow", backoff=constant(20))
    jobs.enqueue("test.slow")
    assert delay_of(fail(jobs, jobs.claim(worker_id="worker-1"))) == 20.0


@pytest.mark.parametrize("backoff", [broken, no_number, past_every_float])
def test_a_backoff_that_is_broken_retries_at_once(jobs, handler, caplog, backoff):
    handler("test.slow", backoff=backoff)
    jobs.enqueue("test.slow")
    job = fail(jobs, jobs.claim(worker_id="worker-1"))
    assert (job.status, job.retry_count) == ("pending", 1)
    assert f"The backoff of job {job.pk} cannot be used" in caplog.text


@pytest.mark.parametrize(
    "stored", ["gone.module.backoff", {"kind": "cubic"}, {"kind": "constant", "minutes": 5}, {}, None, 5, []]
)
def test_a_stored_backoff_that_cannot_be_loaded_retries_at_once(jobs, stored):
    job = claimed()
    jobs.filter(pk=job.pk).update(meta={"_backoff": stored})
    assert fail(jobs, job).status == "pending"


def test_a_delay_of_any_length_is_capped(jobs, handler):
    handler("test.slow", backoff=lambda retry: 1e18)
    jobs.enqueue("test.slow")
    assert delay_of(fail(jobs, jobs.claim(worker_id="worker-1"))) == MAX_DELAY


def test_the_thousandth_retry_has_a_delay_too(jobs):
    job = claimed(max_retries=1000, backoff=exponential(jitter=0))
    jobs.filter(pk=job.pk).update(retry_count=999)
    job = fail(jobs, job)
    assert (job.retry_count, job.run_at - job.updated_at) == (1000, timedelta(hours=1))

"""complete, fail, heartbeat and release by the holder of a claim, repeated, or too late."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_jobqueue.exceptions import ClaimLost
from tests.support.rows import claimed, expire, row_of

VERBS = {
    "complete": lambda jobs, job: jobs.complete(job.pk, fencing_token=job.fencing_token, result={"late": 1}),
    "fail": lambda jobs, job: jobs.fail(job.pk, error="late", fencing_token=job.fencing_token),
    "heartbeat": lambda jobs, job: jobs.heartbeat(job.pk, fencing_token=job.fencing_token, progress=1),
    "release": lambda jobs, job: jobs.release(job.pk, fencing_token=job.fencing_token),
}


def reap(jobs, job):
    expire(job.pk)
    [reaped] = jobs.reap()
    assert reaped.pk == job.pk


def reap_and_claim_again(jobs, job):
    reap(jobs, job)
    assert jobs.claim(worker_id="worker-2").pk == job.pk


def reap_for_good(jobs, job):
    jobs.filter(pk=job.pk).update(retry_count=job.max_retries)
    reap(jobs, job)


def reap_cancelled(jobs, job):
    jobs.cancel(job.pk)
    reap(jobs, job)


def release_and_claim_again(jobs, job):
    jobs.release(job.pk, fencing_token=job.fencing_token)
    assert jobs.claim(worker_id="worker-2").pk == job.pk


def fail_and_claim_again(jobs, job):
    jobs.fail(job.pk, error="boom", fencing_token=job.fencing_token)
    assert jobs.claim(worker_id="worker-2").pk == job.pk


LOSSES = [
    reap,
    reap_and_claim_again,
    reap_for_good,
    reap_cancelled,
    release_and_claim_again,
    fail_and_claim_again,
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("lose", LOSSES)
def test_a_worker_that_is_too_late_changes_nothing_and_is_told_so(jobs, lose, verb):
    job = claimed()
    lose(jobs, job)
    before = row_of(job.pk)
    if (lose, verb) == (fail_and_claim_again, "fail"):
        VERBS[verb](jobs, job)  # it reported this already: the answer is the same again
    else:
        with pytest.raises(ClaimLost):
            VERBS[verb](jobs, job)
    assert row_of(job.pk) == before


@pytest.mark.parametrize("lose", LOSSES)
def test_a_batch_that_is_too_late_changes_nothing_and_is_told_so(jobs, lose):
    job = claimed()
    lose(jobs, job)
    before = row_of(job.pk)
    claim = (job.pk, job.fencing_token)
    assert jobs.complete_many([(*claim, None)]) == set()
    assert jobs.renew_many([claim], lease_seconds=60) == {}
    assert row_of(job.pk) == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_lease_that_ran_out_is_still_held_until_the_job_is_reaped(jobs, verb):
    job = claimed()
    expire(job.pk)
    before = row_of(job.pk)
    VERBS[verb](jobs, job)
    assert row_of(job.pk) != before


def test_complete_keeps_the_result(jobs):
    job = claimed()
    done = jobs.complete(job.pk, fencing_token=1, result={"sent": [1, 2]})
    stored = jobs.get(pk=job.pk)
    assert (stored.status, stored.result, stored.lease_expires_at) == ("completed", {"sent": [1, 2]}, None)
    assert (done.status, done.result, done.finished_at) == ("completed", {"sent": [1, 2]}, stored.finished_at)


def test_a_completed_job_still_tells_who_ran_it_and_leaves_no_attempt(jobs):
    job = claimed(worker_id="worker-7")
    done = jobs.complete(job.pk, fencing_token=1)
    assert (done.worker_id, done.claimed_at, done.attempts.count()) == ("worker-7", job.claimed_at, 0)


def test_complete_without_a_token_is_for_whoever_holds_the_job(jobs):
    job = claimed()
    assert jobs.complete(job.pk).status == "completed"


def test_a_repeated_complete_answers_the_same_and_keeps_the_first_result(jobs):
    job = claimed()
    first = jobs.complete(job.pk, fencing_token=1, result=1)
    before = row_of(job.pk)
    again = jobs.complete(job.pk, fencing_token=1, result=2)
    assert (again.status, again.result, again.finished_at) == ("completed", 1, first.finished_at)
    assert row_of(job.pk) == before


def test_a_repeated_complete_by_another_principal_is_refused(jobs):
    jobs.enqueue("test.noop")
    job = jobs.claim(worker_id="worker-1", claimed_by="service")
    jobs.complete(job.pk, fencing_token=1, claimed_by="service")
    assert jobs.complete(job.pk, fencing_token=1, claimed_by="service").status == "completed"
    with pytest.raises(ClaimLost):
        jobs.complete(job.pk, fencing_token=1, claimed_by="other")


def test_a_repeated_fail_counts_once(jobs):
    job = claimed()
    jobs.fail(job.pk, error="boom", fencing_token=1)
    before = row_of(job.pk)
    again = jobs.fail(job.pk, error="boom again", fencing_token=1)
    assert (again.status, again.retry_count, again.error) == ("pending", 1, "boom")
    assert row_of(job.pk) == before


def test_a_complete_after_a_fail_of_the_same_claim_is_refused(jobs):
    job = claimed()
    jobs.fail(job.pk, error="boom", fencing_token=1, retryable=False)
    with pytest.raises(ClaimLost):
        jobs.complete(job.pk, fencing_token=1)


def test_a_fail_after_a_complete_of_the_same_claim_is_refused(jobs):
    job = claimed()
    jobs.complete(job.pk, fencing_token=1)
    before = row_of(job.pk)
    with pytest.raises(ClaimLost):
        jobs.fail(job.pk, error="boom", fencing_token=1)
    assert row_of(job.pk) == before


def test_a_heartbeat_extends_the_lease_from_now(jobs):
    job = claimed()
    expire(job.pk)
    beating = jobs.heartbeat(job.pk, fencing_token=1, lease_seconds=120)
    assert beating.lease_expires_at - beating.updated_at == timedelta(seconds=120)
    assert jobs.reap() == []


def test_a_heartbeat_may_be_repeated(jobs):
    job = claimed()
    jobs.heartbeat(job.pk, fencing_token=1)
    assert jobs.heartbeat(job.pk, fencing_token=1).status == "running"


def test_a_heartbeat_without_progress_keeps_the_last(jobs):
    job = claimed()
    jobs.heartbeat(job.pk, fencing_token=1, progress={"done": 5})
    assert jobs.heartbeat(job.pk, fencing_token=1).progress == {"done": 5}


def test_a_heartbeat_tells_that_a_cancel_is_requested(jobs):
    job = claimed()
    assert jobs.heartbeat(job.pk, fencing_token=1).cancel_requested_at is None
    jobs.cancel(job.pk)
    assert jobs.heartbeat(job.pk, fencing_token=1).cancel_requested_at is not None


def test_the_principal_of_the_claim_may_acknowledge_without_a_token(jobs):
    jobs.enqueue("test.noop")
    job = jobs.claim(worker_id="worker-1", claimed_by="service")
    assert jobs.complete(job.pk, claimed_by="service").status == "completed"


def test_many_are_completed_each_with_its_result(jobs):
    jobs.enqueue_many([{"type": "test.noop"}] * 5)
    mine = jobs.claim_many(worker_id="worker-1", limit=5)
    done = jobs.complete_many([(job.pk, 1, None if job is mine[0] else f'{{"n":{job.pk}}}') for job in mine])
    assert done == {job.pk for job in mine}
    assert [job.result for job in jobs.order_by("id")] == [None, *({"n": job.pk} for job in mine[1:])]
    assert {job.status for job in jobs.all()} == {"completed"}
    assert not jobs.filter(finished_at=None).exists()


def test_many_are_renewed_each_with_its_cancel(jobs):
    jobs.enqueue_many([{"type": "test.noop"}] * 3)
    first, second, third = jobs.claim_many(worker_id="worker-1", limit=3, lease_seconds=5)
    jobs.cancel(second.pk)
    jobs.complete(third.pk, fencing_token=1)
    renewed = jobs.renew_many([(job.pk, 1) for job in (first, second, third)], lease_seconds=120)
    assert renewed == {first.pk: False, second.pk: True}
    after = jobs.get(pk=first.pk)
    assert after.lease_expires_at - after.updated_at == timedelta(seconds=120)


def test_a_batch_changes_only_what_is_current(jobs):
    mine, theirs = claimed(), claimed()
    before = row_of(theirs.pk)
    assert jobs.complete_many([(mine.pk, 1, None), (theirs.pk, 7, None), (404, 1, None)]) == {mine.pk}
    assert row_of(theirs.pk) == before


def test_a_batch_may_name_a_job_twice(jobs):
    job = claimed()
    claims = [(job.pk, 7, '"stale"'), (job.pk, 1, '"first"'), (job.pk, 1, '"second"'), (job.pk, 0, None)]
    assert jobs.renew_many([claim[:2] for claim in claims], lease_seconds=60) == {job.pk: False}
    assert jobs.complete_many(claims) == {job.pk}
    assert jobs.get(pk=job.pk).result == "first"


def test_a_batch_may_name_what_no_row_can_have(jobs):
    job = claimed()
    odd = [(2**63, 1), (job.pk, 2**70), (-1, 1), (0, 0), (job.pk, 1)]
    assert jobs.renew_many(odd, lease_seconds=60) == {job.pk: False}
    assert jobs.complete_many([(*claim, None) for claim in odd]) == {job.pk}


def test_an_empty_batch_asks_the_database_nothing(jobs, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert jobs.complete_many([]) == set()
        assert jobs.renew_many([], lease_seconds=60) == {}

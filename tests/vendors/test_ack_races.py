"""Completions, failures and cancels against the reaper, by real processes: one wins, and the row tells who."""

from __future__ import annotations

import pytest
from django.db import connection

from django_jobqueue.models import Job, JobAttempt
from django_jobqueue.vendors import Now
from tests.support import claimers

ROUNDS = 60


def stale_claims(count=ROUNDS):
    """Running jobs whose lease ran out, the first the stalest, as (id, fencing token)."""
    Job.objects.enqueue_many([{"type": "test.noop"}] * count)
    claims = [
        (job.pk, job.fencing_token) for job in Job.objects.claim_many(worker_id="worker-1", limit=count)
    ]
    for place, (job_id, _) in enumerate(claims):
        Job.objects.filter(pk=job_id).update(lease_expires_at=Now(place - 1000))
    return claims


def ids(**conditions):
    return set(Job.objects.filter(**conditions).values_list("pk", flat=True))


@pytest.mark.parametrize("many", [False, True])
def test_a_job_is_either_completed_or_reaped(race, many):
    claims = stale_claims()
    race.add(claimers.complete_in_turn, claims, many=many)
    race.add(claimers.reap_in_turn, rounds=ROUNDS)
    completed, reaped = race.run()
    assert sorted(completed + reaped) == [job_id for job_id, _ in claims]
    assert ids(status="completed", result="done", retry_count=0) == set(completed)
    assert ids(status="pending", result__isnull=True, retry_count=1) == set(reaped)
    assert sorted(JobAttempt.objects.values_list("job", "outcome")) == [
        (job_id, "lost") for job_id in sorted(reaped)
    ]


def test_a_failure_is_counted_once_by_its_holder_or_by_the_reaper(race):
    claims = stale_claims()
    race.add(claimers.fail_in_turn, claims)
    race.add(claimers.reap_in_turn, rounds=ROUNDS)
    failed, reaped = race.run()
    assert sorted(failed + reaped) == [job_id for job_id, _ in claims]
    assert set(Job.objects.values_list("status", "retry_count")) == {("pending", 1)}
    outcomes = dict(JobAttempt.objects.values_list("job", "outcome"))
    assert outcomes == {**dict.fromkeys(failed, "failed"), **dict.fromkeys(reaped, "lost")}
    assert JobAttempt.objects.count() == ROUNDS


def test_two_reapers_share_the_stale_jobs(race):
    claims = stale_claims()
    for _ in range(2):
        race.add(claimers.reap_in_turn, rounds=ROUNDS)
    one, other = race.run()
    assert sorted(one + other) == [job_id for job_id, _ in claims]
    assert JobAttempt.objects.count() == ROUNDS


def test_a_cancel_is_never_lost_to_a_failure(race):
    claims = stale_claims()
    race.add(claimers.fail_in_turn, claims)
    race.add(claimers.cancel_in_turn, claims)
    failed, answers = race.run()
    assert len(failed) == ROUNDS
    # The cancel came first, and the failure saw it; or it met the job when it was pending again.
    assert set(answers) <= {"running", "cancelled"}
    assert set(Job.objects.values_list("status", flat=True)) == {"cancelled"}


def test_the_reaper_passes_over_a_row_that_another_transaction_holds(race):
    claims = [job_id for job_id, _ in stale_claims(3)]
    race.add(claimers.hold_row, claims[0])
    barrier = race.begin(with_test=True)
    barrier.wait(30)
    if connection.features.has_select_for_update_skip_locked:
        reaped = Job.objects.reap()
        barrier.wait(30)
        assert [job.pk for job in reaped] == claims[1:]
    else:  # one writer at a time: there is nothing to pass over, only to wait for
        barrier.wait(30)
        assert [job.pk for job in Job.objects.reap()] == claims
    race.end()


def test_a_prune_passes_over_a_row_that_another_transaction_holds(race):
    claims = stale_claims(3)
    Job.objects.complete_many([(*claim, None) for claim in claims])
    held, *others = (job_id for job_id, _ in claims)
    race.add(claimers.hold_row, held)
    barrier = race.begin(with_test=True)
    barrier.wait(30)
    if connection.features.has_select_for_update_skip_locked:
        assert Job.objects.prune(older_than=0, batch_size=1) == len(others)
        barrier.wait(30)
    else:
        barrier.wait(30)
        assert Job.objects.prune(older_than=0, batch_size=1) == len(claims)
    race.end()

"""running -> pending | scheduled | failed | cancelled, for jobs that nobody works on any more."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from django_jobqueue import constant
from django_jobqueue.jobs.running import reap as module
from django_jobqueue.models import JobAttempt
from django_jobqueue.vendors import Now
from tests.support.rows import claimed, expire, job_in, row_of


def stale(**options):
    job = claimed(**options)
    expire(job.pk)
    return job


def test_a_job_whose_lease_ran_out_is_pending_again(jobs):
    job = stale()
    [reaped] = jobs.reap()
    assert (reaped.pk, reaped.status, reaped.retry_count, reaped.worker_id) == (job.pk, "pending", 1, "")
    assert reaped.error == "The worker worker-1 stopped renewing its lease; it was stopped or lost."


def test_the_lost_attempt_is_recorded(jobs):
    job = stale()
    jobs.reap()
    attempt = JobAttempt.objects.get(job=job.pk)
    assert (attempt.number, attempt.outcome, attempt.worker_id) == (1, "lost", "worker-1")


def test_a_job_within_its_lease_is_left_alone(jobs):
    job = claimed()
    before = row_of(job.pk)
    assert jobs.reap() == []
    assert row_of(job.pk) == before


@pytest.mark.parametrize("max_retries", [0, 1, 3])
def test_a_job_without_retries_left_ends_as_failed(jobs, max_retries):
    runs = 0
    jobs.enqueue("test.noop", max_retries=max_retries)
    while job := jobs.claim(worker_id="worker-1"):
        runs += 1
        expire(job.pk)
        [reaped] = jobs.reap()
    assert (runs, reaped.status, reaped.retry_count) == (max_retries + 1, "failed", max_retries)
    assert reaped.finished_at is not None


def test_the_backoff_holds_for_lost_jobs_too(jobs):
    stale(backoff=constant(60))
    [reaped] = jobs.reap()
    assert (reaped.status, (reaped.run_at - reaped.updated_at).total_seconds()) == ("scheduled", 60.0)


def test_a_lost_job_that_was_to_be_cancelled_is_cancelled(jobs):
    job = stale()
    jobs.cancel(job.pk)
    [reaped] = jobs.reap()
    assert (reaped.status, reaped.retry_count) == ("cancelled", 0)
    assert JobAttempt.objects.get(job=job.pk).outcome == "lost"


def test_the_stalest_go_first_and_no_more_than_asked_for(jobs):
    order = [stale().pk for _ in range(5)]
    for place, job_id in enumerate(reversed(order)):
        jobs.filter(pk=job_id).update(lease_expires_at=Now(place - 60))
    assert [job.pk for job in jobs.reap(limit=2)] == [order[4], order[3]]
    assert [job.pk for job in jobs.reap()] == [order[2], order[1], order[0]]


def test_a_limit_of_none_at_all_reaps_nothing(jobs):
    stale()
    assert jobs.reap(limit=0) == []


def test_more_than_one_batch_is_reaped_in_one_call(jobs):
    jobs.enqueue_many([{"type": "test.noop"}] * 250)
    jobs.claim_many(worker_id="worker-1", limit=250)
    jobs.filter(status="running").update(lease_expires_at=Now(-1))
    assert len(jobs.reap()) == 250
    assert jobs.filter(status="pending", retry_count=1).count() == 250


def test_each_of_many_lost_jobs_is_retried_failed_or_cancelled_as_it_is_due(jobs):
    kinds = {
        "retried": {"max_retries": 3},
        "once failed": {"max_retries": 3},
        "out of retries": {"max_retries": 0},
        "with backoff": {"max_retries": 3, "backoff": constant(60)},
        "to be cancelled": {"max_retries": 3},
    }
    lost = {kind: claimed(**options) for kind, options in kinds.items()}
    jobs.fail(lost["once failed"].pk, error="boom", fencing_token=1)
    jobs.claim(worker_id="worker-2")
    jobs.cancel(lost["to be cancelled"].pk)
    jobs.filter(status="running").update(lease_expires_at=Now(-1))
    assert {job.pk for job in jobs.reap()} == {job.pk for job in lost.values()}
    after = {kind: jobs.get(pk=job.pk) for kind, job in lost.items()}
    assert {kind: (job.status, job.retry_count) for kind, job in after.items()} == {
        "retried": ("pending", 1),
        "once failed": ("pending", 2),
        "out of retries": ("failed", 0),
        "with backoff": ("scheduled", 1),
        "to be cancelled": ("cancelled", 0),
    }
    waits = after["with backoff"].run_at - after["with backoff"].updated_at
    assert waits.total_seconds() == 60.0
    attempts = list(
        after["once failed"].attempts.values_list("number", "outcome", "fencing_token", "worker_id")
    )
    assert attempts == [(1, "failed", 1, "worker-1"), (2, "lost", 2, "worker-2")]
    assert (
        after["once failed"].error
        == "The worker worker-2 stopped renewing its lease; it was stopped or lost."
    )


def test_by_age_the_lease_does_not_matter(jobs):
    old, young = claimed(), claimed()
    jobs.filter(pk=old.pk).update(claimed_at=Now(-300), lease_expires_at=Now(3600))
    jobs.filter(pk=young.pk).update(lease_expires_at=Now(-1))
    [reaped] = jobs.reap(older_than=120)
    assert reaped.pk == old.pk
    assert reaped.error == "The worker worker-1 held the job for more than 120 s."


def test_an_age_of_nothing_is_every_running_job(jobs):
    ids = {claimed().pk, claimed().pk}
    assert {job.pk for job in jobs.reap(older_than=0)} == ids


def test_what_would_be_reaped_can_be_listed(jobs):
    job = stale()
    claimed()
    before = row_of(job.pk)
    assert [listed.pk for listed in jobs.list_stale()] == [job.pk]
    assert jobs.list_stale(older_than=60).count() == 1
    assert row_of(job.pk) == before


@pytest.mark.parametrize("end", ["completed", "renewed", "failed", "claimed again"])
def test_a_job_that_changed_since_it_was_listed_is_left_alone(jobs, monkeypatch, end):
    job, behind = stale(), stale()
    jobs.filter(pk=job.pk).update(lease_expires_at=Now(-60))
    retry_or_fail_many, rows = module.retry_or_fail_many, []

    def change_first(*args, **options):
        if end == "completed":
            jobs.complete(job.pk, fencing_token=1)
        elif end == "renewed":
            jobs.heartbeat(job.pk, fencing_token=1)
        else:
            jobs.fail(job.pk, error="boom", fencing_token=1)
        if end == "claimed again":
            assert jobs.claim(worker_id="worker-2").pk == job.pk
        rows.append(row_of(job.pk))
        return retry_or_fail_many(*args, **options)

    monkeypatch.setattr(module, "retry_or_fail_many", change_first)
    assert [reaped.pk for reaped in jobs.reap()] == [behind.pk]
    assert rows == [row_of(job.pk)]


@pytest.mark.parametrize("limit", [1, None])
@pytest.mark.django_db(transaction=True)
def test_a_job_that_cannot_be_changed_hides_none_behind_it(monkeypatch, caplog, limit):
    from django_jobqueue.models import Job

    stuck = job_in("running", queue="a")
    behind = job_in("running", queue="b")
    Job.objects.filter(pk=stuck.pk).update(lease_expires_at=Now(-60))
    retry_or_fail_many = module.retry_or_fail_many

    def refuse_one(manager, job_ids, *args, **options):
        if stuck.pk in job_ids:
            raise DatabaseError("a trigger refuses it")
        return retry_or_fail_many(manager, job_ids, *args, **options)

    monkeypatch.setattr(module, "retry_or_fail_many", refuse_one)
    assert [reaped.pk for reaped in Job.objects.reap(limit=limit)] == [behind.pk]
    assert f"Job {stuck.pk} cannot be reaped now" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_lost_database_is_not_taken_for_a_bad_row(monkeypatch):
    from django.db import connection

    from django_jobqueue.models import Job

    job_in("running")

    def lose_it(*args, **options):
        connection.close()
        raise DatabaseError("the server has gone")

    monkeypatch.setattr(module, "retry_or_fail_many", lose_it)
    with pytest.raises(DatabaseError, match="the server has gone"):
        Job.objects.reap()


def test_a_reap_reads_no_further_than_it_goes_and_no_payloads(jobs, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 2)
    ids = [stale(queue=str(number)).pk for number in range(5)]
    with CaptureQueriesContext(connection) as queries:
        batches = jobs.reap_batches()
        assert {job.pk for job in next(batches)} <= set(ids)
        assert jobs.filter(status="running").count() == 3
        assert [len(batch) for batch in batches] == [2, 1]
    reads = [query["sql"] for query in queries if query["sql"].lstrip("(").startswith("SELECT")]
    assert not [sql for sql in reads if "payload" in sql]
    listings = [sql for sql in reads if "LIMIT 2" in sql]
    assert len(listings) == 3


def test_a_limited_reap_lists_no_more_than_its_limit(jobs):
    for number in range(3):
        stale(queue=str(number))
    with CaptureQueriesContext(connection) as queries:
        assert len(jobs.reap(limit=1)) == 1
    assert len([query for query in queries if "LIMIT 1" in query["sql"]]) == 1


def test_what_is_claimed_again_during_a_reap_is_not_taken_again(jobs, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 1)
    ids = [stale(queue=str(number)).pk for number in range(3)]
    reaped: list[int] = []
    for batch in jobs.reap_batches(older_than=0):
        reaped += [job.pk for job in batch]
        assert len(reaped) <= 3
        while jobs.claim(worker_id="again", lease_seconds=3600) is not None:
            """Claims all that came back."""
    assert sorted(reaped) == ids

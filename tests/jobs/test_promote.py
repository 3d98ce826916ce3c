"""scheduled -> pending: when its time has come, or when a person says so."""

from __future__ import annotations

from datetime import timedelta

from django_jobqueue.vendors import Now
from tests.support.rows import IN_AN_HOUR, row_of


def due(jobs, seconds_ago):
    job = jobs.enqueue("test.noop", run_at=IN_AN_HOUR)
    jobs.filter(pk=job.pk).update(run_at=Now(-seconds_ago))
    return job.pk


def test_due_jobs_are_pending(jobs):
    ids = [due(jobs, 1), due(jobs, 2)]
    assert jobs.promote() == 2
    assert [job.pk for job in jobs.claim_many(worker_id="worker-1", limit=5)] == ids


def test_jobs_that_are_not_due_are_left_alone(jobs):
    job = jobs.enqueue("test.noop", run_at=timedelta(seconds=30))
    before = row_of(job.pk)
    assert jobs.promote() == 0
    assert row_of(job.pk) == before


def test_the_longest_due_go_first_and_no_more_than_asked_for(jobs):
    younger, older = due(jobs, 5), due(jobs, 50)
    assert jobs.promote(limit=1) == 1
    assert (jobs.get(pk=older).status, jobs.get(pk=younger).status) == ("pending", "scheduled")


def test_a_promoted_job_keeps_its_run_at_and_its_place(jobs):
    first = due(jobs, 5)
    second = jobs.enqueue("test.noop").pk
    run_at = jobs.get(pk=first).run_at
    jobs.promote()
    assert jobs.get(pk=first).run_at == run_at
    assert [job.pk for job in jobs.claim_many(worker_id="worker-1", limit=5)] == [first, second]


def test_a_person_need_not_wait(jobs):
    job = jobs.run_now(jobs.enqueue("test.noop", run_at=IN_AN_HOUR).pk)
    assert (job.status, job.run_at) == ("pending", job.updated_at)
    assert jobs.claim(worker_id="worker-1").pk == job.pk

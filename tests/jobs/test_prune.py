"""completed | failed | cancelled -> gone."""

from __future__ import annotations

import pytest

from django_jobqueue.models import JobAttempt
from django_jobqueue.vendors import Now
from tests.support.rows import job_in

FINISHED = ("completed", "failed", "cancelled")
LIVE = ("scheduled", "pending", "running")


def finished(jobs, seconds_ago, status="completed"):
    job = job_in(status, queue="done")
    jobs.filter(pk=job.pk).update(finished_at=Now(-seconds_ago))
    return job.pk


def left(jobs):
    return set(jobs.values_list("pk", flat=True))


def test_only_jobs_that_finished_long_enough_ago_go(jobs):
    finished(jobs, 3600)
    young = finished(jobs, 60)
    assert jobs.count_prunable(older_than=600) == 1
    assert jobs.prune(older_than=600) == 1
    assert left(jobs) == {young}


@pytest.mark.parametrize("status", FINISHED)
def test_every_end_state_is_pruned_on_its_own(jobs, status):
    ids = {state: finished(jobs, 3600, state) for state in FINISHED}
    assert jobs.prune(older_than=600, statuses=[status]) == 1
    assert left(jobs) == set(ids.values()) - {ids[status]}


def test_live_jobs_never_go(jobs):
    live = {job_in(status, queue=status).pk for status in LIVE}
    finished(jobs, 3600)
    assert jobs.prune(older_than=0) == 1
    assert left(jobs) == live


def test_a_retried_job_is_live_again(jobs):
    job = finished(jobs, 3600, "failed")
    jobs.retry(job)
    assert jobs.prune(older_than=0) == 0
    assert left(jobs) == {job}


def test_the_attempts_go_with_their_jobs(jobs):
    finished(jobs, 3600, "failed")
    kept = finished(jobs, 60, "failed")
    jobs.prune(older_than=600)
    assert list(JobAttempt.objects.values_list("job_id", flat=True)) == [kept]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 100])
def test_small_batches_prune_all(jobs, batch_size):
    for _ in range(7):
        finished(jobs, 60)
    assert jobs.prune(older_than=0, batch_size=batch_size) == 7
    assert left(jobs) == set()


def test_the_oldest_go_first_and_no_more_than_asked_for(jobs):
    ids = [finished(jobs, 60) for _ in range(5)]
    assert jobs.prune(older_than=0, limit=3, batch_size=2) == 3
    assert left(jobs) == set(ids[3:])


def test_no_status_is_nothing(jobs):
    finished(jobs, 60)
    assert jobs.prune(older_than=0, statuses=[]) == 0

"""Completed jobs that are not kept."""

from __future__ import annotations

import pytest

from django_jobqueue.models import Job
from tests.support.workers import drain

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_handler_may_have_its_completed_jobs_deleted():
    Job.objects.enqueue_many([{"type": "test.unkept"}] * 20 + [{"type": "test.noop"}] * 3)
    assert drain() == {"completed": 23}
    assert set(Job.objects.values_list("type", "status")) == {("test.noop", "completed")}


def test_a_job_with_a_key_stays_so_that_the_key_stays_taken():
    job = Job.objects.enqueue("test.unkept", idempotency_key="k")
    drain()
    assert Job.objects.enqueue("test.unkept", idempotency_key="k").pk == job.pk


def test_a_job_with_attempts_stays_with_them():
    job = Job.objects.enqueue("test.unkept", {"fail_first": True})
    drain()
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.attempts.count()) == ("completed", 1)


def test_a_queue_may_keep_nothing(settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "KEEP_COMPLETED": {"noise": False}}
    Job.objects.enqueue("test.noop", queue="noise")
    Job.objects.enqueue("test.noop", queue="mail")
    drain()
    assert list(Job.objects.values_list("queue", flat=True)) == ["mail"]


def test_a_claim_that_is_not_current_deletes_nothing():
    from django_jobqueue.vendors import HeldClaim

    job = Job.objects.enqueue("test.unkept")
    Job.objects.claim(worker_id="w")
    assert Job.objects.complete_claims([HeldClaim(job.pk, 2, None, keep=False)]) == set()
    assert Job.objects.complete_claims([HeldClaim(job.pk, 1, None, keep=False)]) == {job.pk}
    assert not Job.objects.exists()


def test_a_run_that_failed_is_no_completion_because_its_job_is_gone():
    Job.objects.enqueue("test.unkept", {"vanish": True})
    assert drain() == {"lost": 1}

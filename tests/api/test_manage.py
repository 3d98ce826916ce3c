from __future__ import annotations

import pytest

from django_jobqueue.models import Job
from tests.api.conftest import TYPE


def test_a_waiting_job_is_cancelled_at_once(operator):
    job = Job.objects.enqueue(TYPE)
    response = operator.post(f"/jobs/{job.pk}/cancel")
    assert (response.status_code, response.json()["status"]) == (200, "cancelled")


def test_a_running_job_is_asked_to_stop(operator):
    job = Job.objects.enqueue(TYPE)
    Job.objects.claim(worker_id="w")
    response = operator.post(f"/jobs/{job.pk}/cancel")
    assert (response.status_code, response.json()["status"]) == (202, "running")
    assert response.json()["cancel_requested_at"] is not None


def test_cancelling_twice_answers_the_same(operator):
    job = Job.objects.enqueue(TYPE)
    first, second = operator.post(f"/jobs/{job.pk}/cancel"), operator.post(f"/jobs/{job.pk}/cancel")
    assert (first.status_code, second.status_code) == (200, 200)
    assert second.json() == first.json()


def test_a_cancelled_job_can_be_retried(operator):
    job = Job.objects.enqueue(TYPE)
    operator.post(f"/jobs/{job.pk}/cancel")
    response = operator.post(f"/jobs/{job.pk}/retry", {})
    assert (response.status_code, response.json()["status"]) == (200, "pending")


def test_a_failed_job_can_be_retried_and_keeps_its_count(operator):
    job = Job.objects.enqueue(TYPE, max_retries=0)
    Job.objects.claim(worker_id="w")
    Job.objects.fail(job.pk, error="boom")
    response = operator.post(f"/jobs/{job.pk}/retry")
    assert (response.status_code, response.json()["status"]) == (200, "pending")
    assert response.json()["retry_count"] == 0


@pytest.mark.parametrize(
    ("verb", "status"), [("cancel", "completed"), ("retry", "completed"), ("retry", "pending")]
)
def test_a_job_in_the_wrong_status_is_refused(operator, verb, status):
    job = Job.objects.enqueue(TYPE)
    if status == "completed":
        Job.objects.claim(worker_id="w")
        Job.objects.complete(job.pk)
    response = operator.post(f"/jobs/{job.pk}/{verb}")
    assert (response.status_code, response.json()["code"]) == (409, "wrong_status")
    assert Job.objects.get().status == status


@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_an_id_that_no_job_has_answers_404(operator, verb):
    assert operator.post(f"/jobs/4711/{verb}").status_code == 404


@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_a_body_with_fields_is_refused(operator, verb):
    job = Job.objects.enqueue(TYPE)
    response = operator.post(f"/jobs/{job.pk}/{verb}", {"reason": "none"})
    assert (response.status_code, list(response.json())) == (400, ["reason"])

from __future__ import annotations

import pytest

from django_jobqueue.models import Job
from tests.api.conftest import TYPE


def test_a_batch_answers_the_jobs_in_the_order_of_claiming(worker):
    jobs = [Job.objects.enqueue(TYPE, priority=priority).pk for priority in (0, 20, 0)]
    response = worker.post("/jobs/claim-batch", {"worker_id": "w", "limit": 3})
    assert response.status_code == 200
    claimed = response.json()["jobs"]
    assert [job["id"] for job in claimed] == [jobs[1], jobs[0], jobs[2]]
    assert {(job["status"], job["fencing_token"], job["lease_expires_in"]) for job in claimed} == {
        ("running", 1, 600.0)
    }


def test_a_batch_takes_no_more_than_its_limit(worker):
    Job.objects.enqueue_many([{"type": TYPE}] * 5)
    claimed = worker.post("/jobs/claim-batch", {"worker_id": "w", "limit": 3}).json()["jobs"]
    assert len(claimed) == 3
    assert Job.objects.filter(status="running").count() == 3


def test_an_empty_batch_answers_200_too(worker):
    response = worker.post("/jobs/claim-batch", {"worker_id": "w", "limit": 100})
    assert (response.status_code, response.json()) == (200, {"jobs": []})


def test_queues_and_types_restrict_a_batch(worker):
    Job.objects.enqueue(TYPE, queue="other")
    Job.objects.enqueue("test.noop", queue="video")
    wanted = Job.objects.enqueue(TYPE, queue="video").pk
    body = {"worker_id": "w", "limit": 9, "queues": ["video"], "types": [TYPE]}
    assert [job["id"] for job in worker.post("/jobs/claim-batch", body).json()["jobs"]] == [wanted]


def test_the_limit_of_a_batch_is_a_setting(worker, settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "API_MAX_CLAIMS": 2}
    answers = [worker.post("/jobs/claim-batch", {"worker_id": "w", "limit": limit}) for limit in (2, 3)]
    assert [answer.status_code for answer in answers] == [200, 400]
    assert answers[1].json() == {"limit": ["must be from 1 to 2."]}


@pytest.mark.parametrize("limit", [None, 0, -1, 101, 10**300, 1.5, "3", True, [1]])
def test_a_bad_limit_is_refused_and_claims_nothing(worker, limit):
    Job.objects.enqueue(TYPE)
    response = worker.post("/jobs/claim-batch", {"worker_id": "w", "limit": limit})
    assert (response.status_code, list(response.json())) == (400, ["limit"])
    assert Job.objects.get().status == "pending"


def test_a_single_claim_has_no_limit(worker):
    assert list(worker.post("/jobs/claim", {"worker_id": "w", "limit": 2}).json()) == ["limit"]

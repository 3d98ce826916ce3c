from __future__ import annotations

from datetime import datetime

import pytest

from django_jobqueue.models import Job
from tests.api.conftest import TYPE


def test_a_claim_answers_the_job_with_its_fence_and_lease(worker):
    job = Job.objects.enqueue(TYPE, {"video": 7}, enqueued_by="somebody")
    response = worker.post("/jobs/claim", {"worker_id": "w-1"})
    claimed = response.json()
    assert response.status_code == 200
    assert (claimed["id"], claimed["status"], claimed["fencing_token"]) == (job.pk, "running", 1)
    assert (claimed["worker_id"], claimed["claimed_by"]) == ("w-1", "worker")
    assert (claimed["payload"], claimed["redacted"]) == ({"video": 7}, False)


def test_a_claim_without_a_lease_gets_the_one_for_workers_that_never_renew(worker):
    Job.objects.enqueue(TYPE)
    claimed = worker.post("/jobs/claim", {"worker_id": "w"}).json()
    lease = datetime.fromisoformat(claimed["lease_expires_at"]) - datetime.fromisoformat(
        claimed["claimed_at"]
    )
    assert claimed["lease_expires_in"] == lease.total_seconds() == 600


def test_a_lease_may_be_chosen_up_to_the_setting(worker, settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "MAX_LEASE_SECONDS": 900}
    Job.objects.enqueue_many([{"type": TYPE}] * 3)
    answers = [
        worker.post("/jobs/claim", {"worker_id": "w", "lease_seconds": seconds})
        for seconds in (0.5, 1, 900, 900.5)
    ]
    assert [answer.status_code for answer in answers] == [400, 200, 200, 400]
    assert [answer.json()["lease_expires_in"] for answer in answers[1:3]] == [1, 900]


def test_none_to_claim_answers_204(worker):
    response = worker.post("/jobs/claim", {"worker_id": "w"})
    assert (response.status_code, response.content) == (204, b"")


def test_the_highest_priority_goes_first_and_then_the_oldest(worker):
    jobs = [Job.objects.enqueue(TYPE, priority=priority) for priority in (0, 20, 0, 20, -5)]
    claimed = [worker.post("/jobs/claim", {"worker_id": "w"}).json()["id"] for _ in jobs]
    assert claimed == [jobs[index].pk for index in (1, 3, 0, 2, 4)]


def test_queues_and_types_restrict_a_claim(worker):
    Job.objects.enqueue(TYPE, queue="other")
    Job.objects.enqueue("test.noop", queue="video")
    wanted = Job.objects.enqueue(TYPE, queue="video")
    body = {"worker_id": "w", "queues": ["video", "audio"], "types": [TYPE]}
    assert worker.post("/jobs/claim", body).json()["id"] == wanted.pk
    assert worker.post("/jobs/claim", body).status_code == 204


BAD = {
    "no worker": ({"worker_id": None}, "worker_id"),
    "blank worker": ({"worker_id": " "}, "worker_id"),
    "long worker": ({"worker_id": "w" * 201}, "worker_id"),
    "worker with NUL": ({"worker_id": "\0"}, "worker_id"),
    "worker with a lone surrogate": ({"worker_id": "\ud800"}, "worker_id"),
    "one queue as a text": ({"queues": "video"}, "queues"),
    "no queues": ({"queues": []}, "queues"),
    "too many queues": ({"queues": ["q"] * 101}, "queues"),
    "numeric queue": ({"queues": [1]}, "queues"),
    "queue with NUL": ({"queues": ["a\0"]}, "queues"),
    "queues as an object": ({"queues": {"video": 1}}, "queues"),
    "no types": ({"types": []}, "types"),
    "long type": ({"types": ["t" * 201]}, "types"),
    "negative lease": ({"lease_seconds": -1}, "lease_seconds"),
    "boolean lease": ({"lease_seconds": True}, "lease_seconds"),
    "lease as a text": ({"lease_seconds": "60"}, "lease_seconds"),
    "endless lease": ({"lease_seconds": 1e300}, "lease_seconds"),
    "the principal": ({"claimed_by": "root"}, "claimed_by"),
}


@pytest.mark.parametrize(("body", "field"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_naming_the_field(worker, body, field):
    Job.objects.enqueue(TYPE)
    response = worker.post("/jobs/claim", {"worker_id": "w", **body})
    assert (response.status_code, list(response.json())) == (400, [field])
    assert Job.objects.get().status == "pending"

"""A claim that is asked for again by its ``request_id`` answers the same claims while their lease lasts."""

from __future__ import annotations

import pytest

from django_jobqueue.jobs.pending.claim_once import forget_requests
from django_jobqueue.models import ClaimRequest, Job
from django_jobqueue.vendors import Now
from tests.api.conftest import TYPE, make_caller
from tests.api.live import at_once, post

ASK = {"worker_id": "w", "request_id": "r-1"}


@pytest.fixture
def jobs(db):
    return [Job.objects.enqueue(TYPE, {"n": n}).pk for n in range(4)]


def let_lapse(job_id):
    Job.objects.filter(pk=job_id).update(lease_expires_at=Now(-1))


def test_the_same_request_gets_the_same_claim_again(worker, jobs):
    first, second = worker.post("/jobs/claim", ASK), worker.post("/jobs/claim", ASK)
    assert first.status_code == second.status_code == 200
    assert {**second.json(), "lease_expires_in": None} == {**first.json(), "lease_expires_in": None}
    assert list(Job.objects.filter(status="running").values_list("pk", flat=True)) == [jobs[0]]


def test_what_is_left_of_the_lease_is_told_not_what_it_was(worker, jobs):
    first = worker.post("/jobs/claim", ASK).json()
    Job.objects.filter(pk=jobs[0]).update(lease_expires_at=Now(100))
    second = worker.post("/jobs/claim", ASK).json()
    assert first["lease_expires_in"] == 600
    assert 95 < second["lease_expires_in"] < 100


def test_another_request_gets_another_job(worker, jobs):
    claimed = [worker.post("/jobs/claim", {**ASK, "request_id": name}).json()["id"] for name in ("a", "b")]
    assert claimed == jobs[:2]


def test_another_callers_request_of_the_same_name_is_another_request(worker, caller, jobs):
    other = caller("other", "work_job")
    assert [client.post("/jobs/claim", ASK).json()["id"] for client in (worker, other)] == jobs[:2]


def test_a_batch_is_answered_again_without_what_was_completed_meanwhile(worker, jobs):
    ask = {**ASK, "limit": 3}
    first = worker.post("/jobs/claim-batch", ask).json()["jobs"]
    worker.post(f"/jobs/{jobs[1]}/complete", {"fencing_token": first[1]["fencing_token"]})
    second = worker.post("/jobs/claim-batch", ask).json()["jobs"]
    assert [job["id"] for job in second] == [jobs[0], jobs[2]]
    assert Job.objects.get(pk=jobs[3]).status == "pending"


@pytest.mark.parametrize("end", ["complete", "release", "lapse", "reap"])
def test_once_the_claim_is_over_the_name_is_free_again(worker, jobs, end):
    first = worker.post("/jobs/claim", ASK).json()["id"]
    if end == "lapse":
        let_lapse(first)
    elif end == "reap":
        let_lapse(first)
        Job.objects.reap()
        Job.objects.claim(worker_id="another")
    else:
        worker.post(f"/jobs/{first}/{end}", {})
    again = worker.post("/jobs/claim", ASK).json()
    assert again["id"] == (jobs[0] if end == "release" else jobs[1])
    assert worker.post("/jobs/claim", ASK).json()["id"] == again["id"]


def test_a_request_that_found_nothing_looks_again(worker):
    assert worker.post("/jobs/claim", ASK).status_code == 204
    job = Job.objects.enqueue(TYPE)
    assert worker.post("/jobs/claim", ASK).json()["id"] == job.pk


def test_a_request_that_finds_nothing_leaves_no_trace(worker):
    worker.post("/jobs/claim", ASK)
    Job.objects.enqueue("test.noop")
    worker.post("/jobs/claim", {**ASK, "types": [TYPE]})
    assert not ClaimRequest.objects.exists()


def test_requests_are_forgotten_when_their_lease_is_over(worker, jobs):
    for name in ("a", "b"):
        worker.post("/jobs/claim", {**ASK, "request_id": name})
    ClaimRequest.objects.filter(request_id="a").update(expires_at=Now(-1))
    assert forget_requests(Job.objects) == 1
    assert [request.request_id for request in ClaimRequest.objects.all()] == ["b"]


@pytest.mark.parametrize("name", ["", " ", "x" * 101, 5, "\0", "\ud800"])
def test_a_bad_name_is_refused(worker, name):
    response = worker.post("/jobs/claim", {**ASK, "request_id": name})
    assert (response.status_code, list(response.json())) == (400, ["request_id"])


def test_of_20_claims_of_one_request_at_once_all_get_the_one_job(live_server, transactional_db):
    token = make_caller("worker", "work_job").token
    Job.objects.enqueue_many([{"type": TYPE}] * 30)
    answers = at_once(20, lambda _: post(f"{live_server.url}/jobs/claim", token, ASK))
    assert {answer.status for answer in answers} == {200}
    claims = {(answer.body["id"], answer.body["fencing_token"]) for answer in answers}
    assert claims == {Job.objects.filter(status="running").values_list("pk", "fencing_token").get()}

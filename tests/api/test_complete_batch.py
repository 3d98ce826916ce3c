from __future__ import annotations

import pytest

from django_jobqueue.models import Job
from tests.api.conftest import TYPE


@pytest.fixture
def claimed(worker):
    """Three jobs claimed by ``worker``."""
    Job.objects.enqueue_many([{"type": TYPE}] * 3)
    return worker.post("/jobs/claim-batch", {"worker_id": "w", "limit": 3}).json()["jobs"]


def item(job, **more):
    return {"id": job["id"], "fencing_token": job["fencing_token"], **more}


def outcomes(client, items):
    response = client.post("/jobs/complete-batch", items)
    assert response.status_code == 200, response.content
    assert [entry["id"] for entry in response.json()["outcomes"]] == [entry["id"] for entry in items]
    return [entry["outcome"] for entry in response.json()["outcomes"]]


def rows():
    return list(Job.objects.order_by("pk").values())


def test_a_batch_completes_its_claims_each_with_its_result(worker, claimed):
    results = [{"n": 1}, None, [True]]
    items = [item(job, result=result) for job, result in zip(claimed, results, strict=True)]
    assert outcomes(worker, items) == ["ok", "ok", "ok"]
    assert [(job["status"], job["result"]) for job in rows()] == [("completed", result) for result in results]


def test_a_batch_that_is_sent_again_answers_already_and_changes_nothing(worker, claimed):
    items = [item(job, result=1) for job in claimed]
    outcomes(worker, items)
    before = rows()
    assert outcomes(worker, items) == ["already"] * 3
    assert rows() == before


def test_every_item_gets_its_own_outcome(worker, caller, claimed):
    reaped, done, mine = claimed
    worker.post(f"/jobs/{done['id']}/complete", {"fencing_token": 1})
    Job.objects.filter(pk=mine["id"]).update(fencing_token=7)
    Job.objects.enqueue(TYPE)
    theirs = caller("other", "work_job").post("/jobs/claim", {"worker_id": "w"}).json()
    pending = {"id": Job.objects.enqueue(TYPE).pk, "fencing_token": 0}
    missing = {"id": 2**63 - 1, "fencing_token": 1}
    Job.objects.release(reaped["id"])
    items = [item(reaped), item(done), item(mine, fencing_token=7), item(theirs), pending, missing]
    expected = ["claim_lost", "already", "ok", "claim_lost", "claim_lost", "not_found"]
    assert outcomes(worker, items) == expected
    assert Job.objects.get(pk=theirs["id"]).status == "running"


def test_another_principals_claims_are_not_completed_with_their_tokens(caller, claimed):
    before = rows()
    assert outcomes(caller("other", "work_job"), [item(job) for job in claimed]) == ["claim_lost"] * 3
    assert rows() == before


def test_a_claim_of_the_project_itself_is_nobodys_over_http(worker):
    job = Job.objects.enqueue(TYPE)
    Job.objects.claim(worker_id="w")
    assert outcomes(worker, [{"id": job.pk, "fencing_token": 1}]) == ["claim_lost"]


def test_a_failed_job_was_not_completed(worker, claimed):
    worker.post(f"/jobs/{claimed[0]['id']}/fail", {"error": "x", "retryable": False})
    assert outcomes(worker, [item(claimed[0])]) == ["claim_lost"]


def test_a_claim_that_is_named_twice_is_completed_once_with_the_first_result(worker, claimed):
    twice = [item(claimed[0], result=1), item(claimed[0], fencing_token=9), item(claimed[0], result=2)]
    assert outcomes(worker, twice) == ["ok", "claim_lost", "already"]
    assert Job.objects.get(pk=claimed[0]["id"]).result == 1


BAD = {
    "an id that is a text": ({"id": "1"}, "[1].id"),
    "an id of zero": ({"id": 0}, "[1].id"),
    "an id past 64 bits": ({"id": 2**63}, "[1].id"),
    "no id": ({"id": None}, "[1].id"),
    "no token": ({"fencing_token": None}, "[1].fencing_token"),
    "a negative token": ({"fencing_token": -1}, "[1].fencing_token"),
    "a token of 300 digits": ({"fencing_token": 10**300}, "[1].fencing_token"),
    "a result with NUL": ({"result": {"a": "\0"}}, "[1].result"),
    "a result past its size": ({"result": "x" * 65536}, "[1].result"),
    "an unknown field": ({"resutl": 1}, "[1].resutl"),
}


@pytest.mark.parametrize(("change", "field"), BAD.values(), ids=BAD)
def test_one_bad_item_refuses_the_whole_batch_before_it_touches_anything(worker, claimed, change, field):
    before = rows()
    response = worker.post("/jobs/complete-batch", [item(claimed[0]), {**item(claimed[1]), **change}])
    assert (response.status_code, list(response.json())) == (400, [field])
    assert rows() == before


def test_all_bad_items_are_named_at_once(worker, claimed):
    items = [{"id": 0, "fencing_token": 1}, 5, item(claimed[0])]
    assert worker.post("/jobs/complete-batch", items).json() == {
        "[0].id": ["must be from 1 to 9223372036854775807."],
        "[1]": ["This item must be a JSON object, not int."],
    }


@pytest.mark.parametrize("body", [{}, None, [], "x", 5, {"jobs": []}])
def test_a_body_that_is_no_list_of_completions_is_refused(worker, body):
    response = worker.post("/jobs/complete-batch", body)
    assert (response.status_code, list(response.json())) == (400, ["detail"])


def test_the_size_of_a_batch_is_a_setting(worker, settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "API_MAX_COMPLETIONS": 2}
    items = [{"id": id, "fencing_token": 1} for id in (1, 2, 3)]
    assert outcomes(worker, items[:2]) == ["not_found", "not_found"]
    response = worker.post("/jobs/complete-batch", items)
    assert response.json() == {"detail": "The body has 3 completions; 1 to 2 are allowed."}

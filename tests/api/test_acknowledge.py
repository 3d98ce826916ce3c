from __future__ import annotations

import pytest

from django_jobqueue.models import Job, JobAttempt
from tests.api.conftest import TYPE

BODIES = {"heartbeat": {}, "complete": {}, "fail": {"error": "boom"}, "release": {}}
verbs = pytest.mark.parametrize("verb", BODIES)


@pytest.fixture
def claimed(worker):
    """A job of somebody else's, claimed by ``worker``."""
    Job.objects.enqueue(TYPE, {"video": 7}, enqueued_by="somebody")
    return worker.post("/jobs/claim", {"worker_id": "w"}).json()


def row(job_id):
    return Job.objects.filter(pk=job_id).values().get()


def test_complete_stores_the_result_and_answers_the_job(worker, claimed):
    response = worker.post(f"/jobs/{claimed['id']}/complete", {"result": {"frames": [1, 2]}})
    assert response.status_code == 200
    assert (response.json()["status"], response.json()["result"]) == ("completed", {"frames": [1, 2]})
    assert Job.objects.get().result == {"frames": [1, 2]}


def test_fail_with_retries_left_makes_the_job_pending_again(worker, claimed):
    response = worker.post(f"/jobs/{claimed['id']}/fail", {"error": "boom"})
    job = Job.objects.get()
    assert response.status_code == 200
    assert (job.status, job.retry_count, job.error) == ("pending", 1, "boom")
    assert response.json()["status"] == "pending"


def test_fail_without_retries_left_ends_as_failed_with_its_error(worker):
    job = Job.objects.enqueue(TYPE, max_retries=0)
    worker.post("/jobs/claim", {"worker_id": "w"})
    shown = worker.post(f"/jobs/{job.pk}/fail", {"error": "boom"}).json()
    assert (shown["status"], shown["error"]) == ("failed", "boom")


def test_fail_may_say_when_to_retry(worker, claimed):
    shown = worker.post(f"/jobs/{claimed['id']}/fail", {"error": "boom", "retry_in": 3600}).json()
    assert shown["status"] == "scheduled"


def test_fail_may_say_that_a_retry_is_of_no_use(worker, claimed):
    shown = worker.post(f"/jobs/{claimed['id']}/fail", {"error": "boom", "retryable": False}).json()
    assert (shown["status"], shown["retry_count"]) == ("failed", 0)


@pytest.mark.parametrize("error", ["", " ", "nul \0", "surrogate \ud800", "x" * 100_000, "😀\n"])
def test_a_failure_is_recorded_whatever_its_error_holds(worker, claimed, error):
    assert worker.post(f"/jobs/{claimed['id']}/fail", {"error": error}).status_code == 200
    assert 0 < len(Job.objects.get().error) <= 8192
    assert JobAttempt.objects.count() == 1


def test_heartbeat_extends_the_lease_and_stores_progress(worker, claimed):
    body = {"lease_seconds": 1000, "progress": {"percent": 50}}
    beat = worker.post(f"/jobs/{claimed['id']}/heartbeat", body).json()
    assert sorted(beat) == ["cancel_requested", "lease_expires_at", "lease_expires_in"]
    assert (beat["lease_expires_in"], beat["cancel_requested"]) == (1000, False)
    assert beat["lease_expires_at"] > claimed["lease_expires_at"]
    assert Job.objects.get().progress == {"percent": 50}


def test_heartbeat_without_a_lease_does_not_shorten_the_one_of_the_claim(worker, claimed):
    assert worker.post(f"/jobs/{claimed['id']}/heartbeat").json()["lease_expires_in"] == 600


def test_heartbeat_tells_that_a_cancel_was_requested(worker, operator, claimed):
    operator.post(f"/jobs/{claimed['id']}/cancel")
    assert worker.post(f"/jobs/{claimed['id']}/heartbeat").json()["cancel_requested"] is True


def test_release_counts_no_retry(worker, claimed):
    shown = worker.post(f"/jobs/{claimed['id']}/release").json()
    assert (shown["status"], shown["retry_count"], shown["claimed_by"]) == ("pending", 0, "")


def test_release_may_say_when_to_run_again(worker, claimed):
    shown = worker.post(f"/jobs/{claimed['id']}/release", {"retry_in": 60}).json()
    assert (shown["status"], shown["retry_count"]) == ("scheduled", 0)


@verbs
def test_another_principal_is_refused_and_changes_nothing(caller, claimed, verb):
    before = row(claimed["id"])
    other = caller("other", "work_job")
    for body in (BODIES[verb], {**BODIES[verb], "fencing_token": claimed["fencing_token"]}):
        response = other.post(f"/jobs/{claimed['id']}/{verb}", body)
        assert (response.status_code, response.json()["code"]) == (409, "not_owner")
    assert row(claimed["id"]) == before


@verbs
def test_a_claim_made_in_the_project_itself_is_nobodys_over_http(worker, verb):
    job = Job.objects.enqueue(TYPE)
    Job.objects.claim(worker_id="w")
    response = worker.post(f"/jobs/{job.pk}/{verb}", BODIES[verb])
    assert (response.status_code, response.json()["code"]) == (409, "not_owner")


@verbs
def test_a_claim_that_was_reaped_and_claimed_again_is_lost(worker, claimed, verb):
    Job.objects.reap(older_than=0)
    again = worker.post("/jobs/claim", {"worker_id": "w"}).json()
    before = row(claimed["id"])
    body = {**BODIES[verb], "fencing_token": claimed["fencing_token"]}
    response = worker.post(f"/jobs/{claimed['id']}/{verb}", body)
    assert (response.status_code, response.json()["code"]) == (409, "claim_lost")
    assert again["fencing_token"] == claimed["fencing_token"] + 1
    assert row(claimed["id"]) == before


@verbs
def test_a_job_that_is_not_running_answers_not_running(worker, verb):
    job = Job.objects.enqueue(TYPE)
    response = worker.post(f"/jobs/{job.pk}/{verb}", BODIES[verb])
    assert (response.status_code, response.json()["code"]) == (409, "not_running")


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_repeating_with_the_same_token_answers_the_same(worker, claimed, verb):
    path = f"/jobs/{claimed['id']}/{verb}"
    body = {**BODIES[verb], "fencing_token": claimed["fencing_token"]}
    first, second = worker.post(path, body), worker.post(path, body)
    assert (first.status_code, second.status_code) == (200, 200)
    assert second.json() == first.json()
    assert Job.objects.get().retry_count == (1 if verb == "fail" else 0)


@verbs
def test_the_token_can_be_made_compulsory(worker, claimed, settings, verb):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "REQUIRE_FENCING_TOKEN": True}
    path = f"/jobs/{claimed['id']}/{verb}"
    assert list(worker.post(path, BODIES[verb]).json()) == ["fencing_token"]
    body = {**BODIES[verb], "fencing_token": claimed["fencing_token"]}
    assert worker.post(path, body).status_code == 200


BAD = {
    "token as a text": ("complete", {"fencing_token": "1"}, "fencing_token"),
    "negative token": ("complete", {"fencing_token": -1}, "fencing_token"),
    "huge token": ("complete", {"fencing_token": 2**63}, "fencing_token"),
    "boolean token": ("complete", {"fencing_token": True}, "fencing_token"),
    "result with NUL": ("complete", {"result": {"a": "\0"}}, "result"),
    "result with a lone surrogate": ("complete", {"result": "\ud800"}, "result"),
    "result past its size": ("complete", {"result": "x" * 65536}, "result"),
    "result past 64 bits": ("complete", {"result": [2**64]}, "result"),
    "unknown field": ("complete", {"resutl": 1}, "resutl"),
    "no error": ("fail", {}, "error"),
    "null error": ("fail", {"error": None}, "error"),
    "error that is no text": ("fail", {"error": {"a": 1}}, "error"),
    "retryable as a text": ("fail", {"error": "x", "retryable": "no"}, "retryable"),
    "negative delay": ("fail", {"error": "x", "retry_in": -1}, "retry_in"),
    "endless delay": ("fail", {"error": "x", "retry_in": 1e12}, "retry_in"),
    "delay as a text": ("release", {"retry_in": "60"}, "retry_in"),
    "endless release": ("release", {"retry_in": 1e12}, "retry_in"),
    "no lease": ("heartbeat", {"lease_seconds": 0}, "lease_seconds"),
    "endless lease": ("heartbeat", {"lease_seconds": 86401}, "lease_seconds"),
    "progress past its size": ("heartbeat", {"progress": "x" * 65536}, "progress"),
}


@pytest.mark.parametrize(("verb", "body", "field"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_naming_the_field_and_changes_nothing(worker, claimed, verb, body, field):
    before = row(claimed["id"])
    response = worker.post(f"/jobs/{claimed['id']}/{verb}", body)
    assert (response.status_code, list(response.json())) == (400, [field])
    assert row(claimed["id"]) == before


@verbs
@pytest.mark.parametrize("job_id", ["0", "-1", "9223372036854775807", "9223372036854775808", "9" * 4999])
def test_an_id_that_no_job_has_answers_404(worker, verb, job_id):
    response = worker.post(f"/jobs/{job_id}/{verb}", BODIES[verb])
    assert response.status_code == 404
    assert "There is no job" in response.json()["detail"]

"""Payload, result and error are for the job's owner and claimer; fence and lease for the claim's holder."""

from __future__ import annotations

import pytest

from django_jobqueue.models import Job
from tests.api.conftest import TYPE

SECRETS = {
    "payload": {"secret": 1},
    "result": None,
    "error": "secret",
    "progress": {"at": "secret"},
    "meta": {"for": "secret"},
}


@pytest.fixture
def failed(db):
    """A failed job enqueued by ``owner`` and claimed by ``claimer``."""
    job = Job.objects.enqueue(TYPE, {"secret": 1}, max_retries=0, enqueued_by="owner", meta={"for": "secret"})
    Job.objects.claim(worker_id="w", claimed_by="claimer")
    Job.objects.heartbeat(job.pk, progress={"at": "secret"})
    return Job.objects.fail(job.pk, error="secret")


def shown(client, job):
    listed = client.get("/jobs").json()["results"]
    detail = client.get(f"/jobs/{job.pk}").json()
    assert listed == [detail]
    return {name: detail[name] for name in (*SECRETS, "redacted")}


@pytest.mark.parametrize("name", ["owner", "claimer"])
def test_the_owner_and_the_claimer_read_everything(failed, caller, name):
    assert shown(caller(name, "view_job"), failed) == {**SECRETS, "redacted": False}


def test_others_get_null(failed, caller):
    expected = {**dict.fromkeys(SECRETS), "redacted": True}
    assert shown(caller("other", "view_job"), failed) == expected


def test_others_read_everything_with_the_permission(failed, caller):
    assert shown(caller("auditor", "view_job", "view_job_payload"), failed) == {**SECRETS, "redacted": False}


def test_an_empty_name_owns_nothing(caller):
    job = Job.objects.enqueue(TYPE, {"secret": 1})
    assert shown(caller("other", "view_job"), job)["redacted"] is True


def test_managing_a_job_does_not_show_it(failed, operator):
    assert operator.post(f"/jobs/{failed.pk}/retry").json()["payload"] is None


def test_the_fence_and_the_lease_are_told_to_the_holder_only(caller):
    job = Job.objects.enqueue(TYPE, enqueued_by="owner")
    Job.objects.claim(worker_id="w", claimed_by="claimer")
    for name in ("owner", "claimer", "other"):
        detail = caller(name, "view_job", "view_job_payload").get(f"/jobs/{job.pk}").json()
        assert not {"fencing_token", "lease_expires_at", "lease_expires_in"} & set(detail)

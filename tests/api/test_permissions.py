from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from django_jobqueue.api.urls import urlpatterns
from django_jobqueue.models import Job
from tests.api.conftest import TYPE, Caller

CALLS = {
    ("POST", "/jobs"): "enqueue_job",
    ("GET", "/jobs"): "view_job",
    ("GET", "/jobs/1"): "view_job",
    ("POST", "/jobs/claim"): "work_job",
    ("POST", "/jobs/claim-batch"): "work_job",
    ("POST", "/jobs/complete-batch"): "work_job",
    ("POST", "/jobs/1/heartbeat"): "work_job",
    ("POST", "/jobs/1/complete"): "work_job",
    ("POST", "/jobs/1/fail"): "work_job",
    ("POST", "/jobs/1/release"): "work_job",
    ("POST", "/jobs/1/cancel"): "manage_job",
    ("POST", "/jobs/1/retry"): "manage_job",
}
calls = pytest.mark.parametrize(("call", "codename"), CALLS.items(), ids=map(" ".join, CALLS))
ALL = {"enqueue_job", "view_job", "work_job", "manage_job", "prioritize_job", "view_job_payload"}


def test_every_view_names_its_own_permission_classes():
    views = [pattern.callback.cls for pattern in urlpatterns]
    assert len(views) == 22
    assert [view for view in views if "permission_classes" not in vars(view)] == []


@calls
def test_nobody_in_particular_gets_401(db, call, codename):
    response = APIClient().generic(call[0], call[1])
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Token"
    assert "detail" in response.json()


@calls
def test_every_other_permission_is_not_enough(caller, call, codename):
    response = caller("somebody", *(ALL - {codename})).generic(*call)
    assert response.status_code == 403
    assert response.json() == {"detail": f"This needs the permission django_jobqueue.{codename}."}


@calls
def test_the_permission_of_the_call_is_enough(caller, call, codename):
    assert caller("somebody", codename).generic(*call).status_code in (200, 204, 400, 404)


def test_an_inactive_user_is_refused(producer):
    User.objects.filter(username="producer").update(is_active=False)
    assert producer.post("/jobs", {"type": TYPE}).status_code == 401


def test_a_superuser_may_do_everything(db):
    root = Caller(User.objects.create_superuser("root"))
    assert root.post("/jobs", {"type": TYPE, "priority": "critical"}).status_code == 201
    assert root.post("/jobs/claim", {"worker_id": "w"}).status_code == 200


def test_a_session_works_with_its_csrf_token_only(producer):
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(producer.user)
    body = {"type": TYPE}
    assert browser.post("/jobs", body, format="json").status_code == 403
    browser.cookies["csrftoken"] = "c" * 32
    headers = {"X-CSRFToken": "c" * 32}
    assert browser.post("/jobs", body, format="json", headers=headers).status_code == 201
    assert Job.objects.get().enqueued_by == "producer"


def test_a_user_whose_name_cannot_be_stored_owns_nothing(producer, monkeypatch):
    monkeypatch.setattr(User, "get_username", lambda user: "x" * 201)
    response = producer.post("/jobs", {"type": TYPE})
    assert response.status_code == 403
    assert "at most 200" in response.json()["detail"]

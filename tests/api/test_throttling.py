"""Rates of calls: DRF's own, off until the project names one."""

from __future__ import annotations

import pytest
from django.core.cache import cache

from django_jobqueue.models import Job
from tests.api.conftest import TYPE


@pytest.fixture
def rates(settings):
    """Sets the rates of scopes."""
    cache.clear()

    def choose(**rates):
        named = {name.replace("_", "-"): rate for name, rate in rates.items()}
        settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": named}

    yield choose
    cache.clear()


def test_without_a_rate_nothing_is_throttled(producer):
    assert {producer.post("/jobs", {"type": TYPE}).status_code for _ in range(30)} == {201}


def test_a_call_past_its_rate_answers_429_and_when_to_come_again(producer, rates):
    rates(jobqueue_enqueue="2/min")
    assert [producer.post("/jobs", {"type": TYPE}).status_code for _ in range(3)] == [201, 201, 429]
    response = producer.post("/jobs", {"type": TYPE})
    assert 1 <= int(response["Retry-After"]) <= 60
    assert response.json()["code"] == "throttled"
    assert Job.objects.count() == 2


def test_each_scope_has_its_own_rate(caller, rates):
    rates(jobqueue_enqueue="1/min", jobqueue_claim="2/min", jobqueue="3/min")
    everyone = caller("everyone", "enqueue_job", "work_job", "view_job")
    calls = {
        "enqueue": lambda: everyone.post("/jobs", {"type": TYPE}),
        "claim": lambda: everyone.post("/jobs/claim", {"worker_id": "w"}),
        "list": lambda: everyone.get("/jobs"),
    }
    answers = {name: [call().status_code for _ in range(4)] for name, call in calls.items()}
    assert answers == {
        "enqueue": [201, 429, 429, 429],
        "claim": [200, 204, 429, 429],
        "list": [200, 200, 200, 429],
    }


def test_single_and_batch_claims_share_a_rate(worker, rates):
    rates(jobqueue_claim="1/min")
    assert worker.post("/jobs/claim", {"worker_id": "w"}).status_code == 204
    assert worker.post("/jobs/claim-batch", {"worker_id": "w", "limit": 1}).status_code == 429


def test_every_user_has_a_rate_of_their_own(caller, rates):
    rates(jobqueue_claim="1/min")
    for name in ("a", "b"):
        worker = caller(name, "work_job")
        answers = [worker.post("/jobs/claim", {"worker_id": "w"}).status_code for _ in range(2)]
        assert answers == [204, 429]

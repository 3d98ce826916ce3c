"""A queue with a bound takes no more than that; a refused enqueue adds nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_jobqueue.models import Job
from tests.api.conftest import TYPE


@pytest.fixture
def depth(settings):
    """Sets ``MAX_QUEUE_DEPTH``."""

    def choose(value):
        settings.JOBQUEUE = {**settings.JOBQUEUE, "MAX_QUEUE_DEPTH": value}

    return choose


def statuses(producer, count, **fields):
    return [producer.post("/jobs", {"type": TYPE, **fields}).status_code for _ in range(count)]


def test_a_full_queue_answers_429_and_when_to_come_again(producer, depth):
    depth(2)
    assert statuses(producer, 2) == [201, 201]
    response = producer.post("/jobs", {"type": TYPE})
    assert (response.status_code, response["Retry-After"]) == (429, "5")
    assert response.json() == {
        "detail": "queue: 2 jobs or more wait in 'default'; no more are taken until some are done.",
        "code": "queue_full",
    }
    assert Job.objects.count() == 2


def test_jobs_that_run_or_are_done_leave_room(producer, depth):
    depth(1)
    for _ in range(3):
        assert statuses(producer, 2) == [201, 429]
        Job.objects.claim(worker_id="w")


def test_scheduled_jobs_wait_too(producer, depth):
    depth(2)
    Job.objects.enqueue(TYPE, run_at=timedelta(days=1))
    assert statuses(producer, 2, run_at="2199-01-01T00:00:00Z") == [201, 429]


def test_a_number_is_the_bound_of_each_queue(producer, depth):
    depth(1)
    assert [statuses(producer, 2, queue=queue) for queue in ("a", "b")] == [[201, 429]] * 2


def test_queues_may_have_bounds_of_their_own(producer, depth):
    depth({"a": 1, "default": 2})
    assert statuses(producer, 2, queue="a") == [201, 429]
    assert statuses(producer, 3) == [201, 201, 429]
    assert statuses(producer, 3, queue="c") == [201] * 3


def test_a_repeated_enqueue_is_answered_also_when_the_queue_is_full(producer, depth):
    depth(1)
    body = {"type": TYPE, "idempotency_key": "k"}
    assert [producer.post("/jobs", body).status_code for _ in range(2)] == [201, 200]
    assert producer.post("/jobs", {**body, "idempotency_key": "other"}).status_code == 429


def test_a_bound_costs_one_statement_an_enqueue(producer, depth):
    def count():
        with CaptureQueriesContext(connection) as queries:
            assert statuses(producer, 1) == [201]
        return len([query for query in queries if Job._meta.db_table in query["sql"]])

    without = count()
    depth(100)
    assert count() == without + 1


@pytest.mark.django_db
def test_the_project_itself_is_not_bound(depth):
    depth(1)
    assert [Job.objects.enqueue(TYPE).status for _ in range(3)] == ["pending"] * 3

"""What a call costs the database, authentication aside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_jobqueue.models import Job
from django_jobqueue.vendors import vendor_for
from tests.api.conftest import TYPE, Caller


@pytest.fixture
def root(transactional_db: None) -> Caller:
    """A caller whom neither authentication nor permissions cost a query."""
    caller = Caller(User.objects.create_superuser("root"))
    caller.force_authenticate(caller.user)
    return caller


def statements(call: Callable[[], Any]) -> list[str]:
    """The statements of ``call``, without the marks of a transaction and the hint to idle workers."""
    with CaptureQueriesContext(connection) as queries:
        assert call().status_code < 300
    marks = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "SELECT pg_notify")
    return [query["sql"] for query in queries if not query["sql"].startswith(marks)]


def returning() -> bool:
    return vendor_for(connection).returns_updated_rows


def test_an_enqueue_without_a_key_is_one_statement(root):
    assert len(statements(lambda: root.post("/jobs", {"type": TYPE, "payload": {"a": 1}}))) == 1


def test_an_enqueue_with_a_new_key_is_a_check_and_the_insert(root):
    assert len(statements(lambda: root.post("/jobs", {"type": TYPE, "idempotency_key": "k"}))) == 2


def test_a_replay_is_one_statement(root):
    root.post("/jobs", {"type": TYPE, "idempotency_key": "k"})
    assert len(statements(lambda: root.post("/jobs", {"type": TYPE, "idempotency_key": "k"}))) == 1


def claim_statements(root: Caller, **choice: Any) -> int:
    return len(statements(lambda: root.post("/jobs/claim", {"worker_id": "w", **choice})))


def test_a_claim_from_one_queue_is_one_statement_where_the_database_can_do_it_in_one(root):
    Job.objects.enqueue(TYPE)
    # A look before the one writer's lock; a choice under row locks, the update and a read.
    expected = {"postgresql": 1, "sqlite": 2, "mysql": 3}[connection.vendor]
    assert claim_statements(root, queues=["default"]) == expected


def test_a_claim_from_any_queue_looks_at_the_heads_of_the_queues_first(root):
    Job.objects.enqueue(TYPE)
    expected = {"postgresql": 2, "sqlite": 2, "mysql": 4}[connection.vendor]
    assert claim_statements(root) == expected


def test_a_claim_that_finds_nothing_is_one_statement(root):
    assert claim_statements(root) == 1


@pytest.mark.parametrize("verb", ["heartbeat", "complete", "release"])
def test_an_acknowledgement_is_one_statement_where_update_returns_rows(root, verb):
    job = Job.objects.enqueue(TYPE)
    claimed = root.post("/jobs/claim", {"worker_id": "w"}).json()
    body = {"fencing_token": claimed["fencing_token"]}
    expected = 1 if returning() else 2
    assert len(statements(lambda: root.post(f"/jobs/{job.pk}/{verb}", body))) == expected


@pytest.mark.parametrize("jobs", [1, 60])
def test_a_page_is_one_statement_however_many_jobs_there_are(root, jobs):
    Job.objects.enqueue_many([{"type": TYPE}] * jobs, enqueued_by="somebody")
    assert len(statements(lambda: root.get("/jobs"))) == 1


def test_a_claim_with_a_request_id_is_three_statements_more(root):
    Job.objects.enqueue(TYPE)
    plain = {"postgresql": 1, "sqlite": 1, "mysql": 3}[connection.vendor]
    assert claim_statements(root, queues=["default"], request_id="r") == plain + 3


def test_a_batch_of_completions_is_a_read_and_a_write_however_many_there_are(root):
    Job.objects.enqueue_many([{"type": TYPE}] * 50)
    claimed = root.post("/jobs/claim-batch", {"worker_id": "w", "limit": 50}).json()["jobs"]
    items = [{"id": job["id"], "fencing_token": job["fencing_token"], "result": 1} for job in claimed]
    expected = 2 if returning() else 3
    assert len(statements(lambda: root.post("/jobs/complete-batch", items))) == expected

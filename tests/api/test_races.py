"""Many callers at once, over real HTTP, each request on a connection of its own."""

from __future__ import annotations

from collections import Counter

import pytest
from django.db import connection, connections

from django_jobqueue.models import Job
from django_jobqueue.signals import job_enqueued
from tests.api.conftest import TYPE, make_caller
from tests.api.live import at_once, post


@pytest.fixture(params=[False, True], ids=["autocommit", "ATOMIC_REQUESTS"])
def atomic_requests(request, monkeypatch):
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", request.param)


@pytest.mark.usefixtures("atomic_requests")
def test_of_20_posts_of_one_key_one_creates_the_job(live_server, transactional_db):
    producer = make_caller("producer", "enqueue_job")
    body = {"type": TYPE, "payload": {"video": 7}, "idempotency_key": "video-7"}
    answers = at_once(20, lambda _: post(f"{live_server.url}/jobs", producer.token, body))
    assert Counter(answer.status for answer in answers) == {201: 1, 200: 19}
    assert {answer.body["id"] for answer in answers} == {Job.objects.get().pk}
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == 19


@pytest.mark.usefixtures("atomic_requests")
def test_each_of_20_claims_gets_a_job_of_its_own(live_server, transactional_db):
    worker = make_caller("worker", "work_job")
    Job.objects.enqueue_many([{"type": TYPE}] * 20)
    url = f"{live_server.url}/jobs/claim"
    answers = at_once(20, lambda index: post(url, worker.token, {"worker_id": f"w-{index}"}))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body["id"] for answer in answers}) == 20


@pytest.mark.usefixtures("atomic_requests")
def test_of_10_completions_with_one_token_all_get_the_same_answer(live_server, transactional_db):
    worker = make_caller("worker", "work_job")
    Job.objects.enqueue(TYPE)
    job = post(f"{live_server.url}/jobs/claim", worker.token, {"worker_id": "w"}).body
    url, body = f"{live_server.url}/jobs/{job['id']}/complete", {"fencing_token": job["fencing_token"]}
    answers = at_once(10, lambda _: post(url, worker.token, body))
    assert {answer.status for answer in answers} == {200}
    assert len({str(answer.body) for answer in answers}) == 1


def test_a_verb_is_a_transaction_of_its_own_whatever_atomic_requests_says(transactional_db, monkeypatch):
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
    seen = []

    def receiver(**_):
        seen.append(connection.in_atomic_block)

    job_enqueued.connect(receiver)
    try:
        make_caller("producer", "enqueue_job").post("/jobs", {"type": TYPE})
    finally:
        job_enqueued.disconnect(receiver)
    assert seen == [False]

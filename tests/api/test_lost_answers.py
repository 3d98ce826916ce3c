"""An answer that is lost after the commit: the caller, who cannot know, sends the same call again."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from django_jobqueue.models import Job, JobAttempt
from tests.api.conftest import TYPE, make_caller
from tests.api.live import Answer, post
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def token(live_server, transactional_db):
    return make_caller("both", "enqueue_job", "work_job").token


@contextmanager
def _sent(url: str, token: str, body: Any) -> Iterator[None]:
    """The call is on its way; at the end the connection is cut, with the answer unread."""
    target = urlsplit(url)
    data = json.dumps(body).encode()
    head = (
        f"POST {target.path} HTTP/1.1\r\nHost: {target.netloc}\r\nAuthorization: Token {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    with socket.create_connection((target.hostname, target.port), timeout=30) as connection:
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )  # reset, no goodbye
        connection.sendall(head.encode() + data)
        yield


@pytest.fixture
def lose(live_server, token):
    """Sends a call, waits until its effect is committed, and drops its answer."""

    def call(path: str, body: Any, committed: Callable[[], Any]) -> None:
        assert not committed()
        with _sent(live_server.url + path, token, body):
            wait_until(committed)

    return call


@pytest.fixture
def send(live_server, token) -> Callable[..., Answer]:
    return lambda path, body: post(live_server.url + path, token, body)


def in_status(status: str) -> Callable[[], bool]:
    return lambda: Job.objects.filter(status=status).exists()


def test_an_enqueue_with_a_key_adds_one_job(lose, send):
    body = {"type": TYPE, "payload": {"video": 7}, "idempotency_key": "video-7"}
    lose("/jobs", body, in_status("pending"))
    answer = send("/jobs", body)
    assert (answer.status, answer.headers["Idempotent-Replayed"]) == (200, "true")
    assert answer.body["id"] == Job.objects.get().pk


def test_a_claim_with_a_request_id_takes_one_job(lose, send):
    Job.objects.enqueue_many([{"type": TYPE}] * 2)
    body = {"worker_id": "w", "request_id": "r-1"}
    lose("/jobs/claim", body, in_status("running"))
    answer = send("/jobs/claim", body)
    held = Job.objects.get(status="running")
    assert (answer.status, answer.body["id"], answer.body["fencing_token"]) == (200, held.pk, 1)
    assert send(f"/jobs/{held.pk}/complete", {"fencing_token": 1}).status == 200


def test_a_batch_claim_with_a_request_id_takes_one_batch(lose, send):
    Job.objects.enqueue_many([{"type": TYPE}] * 10)
    body = {"worker_id": "w", "request_id": "r-1", "limit": 4}
    lose("/jobs/claim-batch", body, in_status("running"))
    claimed = {job["id"] for job in send("/jobs/claim-batch", body).body["jobs"]}
    assert claimed == set(Job.objects.filter(status="running").values_list("pk", flat=True))
    assert len(claimed) == 4


@pytest.fixture
def claimed(send):
    Job.objects.enqueue(TYPE)
    return send("/jobs/claim", {"worker_id": "w"}).body


def test_a_complete_with_its_token_is_answered_again(lose, send, claimed):
    path, body = f"/jobs/{claimed['id']}/complete", {"fencing_token": 1, "result": {"ok": True}}
    lose(path, body, in_status("completed"))
    before = Job.objects.values().get()
    answer = send(path, body)
    assert (answer.status, answer.body["status"], answer.body["result"]) == (200, "completed", {"ok": True})
    assert Job.objects.values().get() == before


def test_a_fail_with_its_token_counts_one_retry(lose, send, claimed):
    path, body = f"/jobs/{claimed['id']}/fail", {"fencing_token": 1, "error": "boom"}
    lose(path, body, in_status("pending"))
    answer = send(path, body)
    assert (answer.status, answer.body["status"], answer.body["retry_count"]) == (200, "pending", 1)
    assert JobAttempt.objects.count() == 1


def test_a_fail_that_was_the_last_is_answered_again(lose, send, claimed):
    path, body = f"/jobs/{claimed['id']}/fail", {"fencing_token": 1, "error": "boom", "retryable": False}
    lose(path, body, in_status("failed"))
    answer = send(path, body)
    assert (answer.status, answer.body["status"]) == (200, "failed")
    assert JobAttempt.objects.count() == 1


def test_a_fail_is_answered_again_after_another_worker_has_taken_the_job(lose, send, claimed):
    path, body = f"/jobs/{claimed['id']}/fail", {"fencing_token": 1, "error": "boom"}
    lose(path, body, in_status("pending"))
    assert send("/jobs/claim", {"worker_id": "another"}).body["fencing_token"] == 2
    answer = send(path, body)
    assert (answer.status, answer.body["status"], answer.body["retry_count"]) == (200, "running", 1)
    assert Job.objects.get().fencing_token == 2


def test_a_batch_of_completions_is_answered_again(lose, send):
    Job.objects.enqueue_many([{"type": TYPE}] * 3)
    claimed = send("/jobs/claim-batch", {"worker_id": "w", "limit": 3}).body["jobs"]
    items = [{"id": job["id"], "fencing_token": 1} for job in claimed]
    lose("/jobs/complete-batch", items, in_status("completed"))
    again = send("/jobs/complete-batch", items).body["outcomes"]
    assert [item["outcome"] for item in again] == ["already"] * 3

"""Claims that wait for a job: under ASGI, in real servers."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from django_jobqueue.models import Job
from tests.api.conftest import TYPE, make_caller
from tests.api.live import Answer, post
from tests.support.asgi import start_server
from tests.support.processes import wait_until


@pytest.fixture
def token(transactional_db):
    return make_caller("worker", "work_job").token


@pytest.fixture
def server(processes):
    return start_server(processes)


@pytest.fixture
def waiting():
    """Runs claims in threads."""
    with ThreadPoolExecutor(20) as pool:
        yield pool


def claim(url, token, **body) -> Answer:
    return post(f"{url}/jobs/claim", token, {"worker_id": "w", **body})


def timed(call):
    begun = time.monotonic()
    answer = call()
    return answer, time.monotonic() - begun


def test_a_claim_waits_until_there_is_a_job(server, token, waiting):
    future = waiting.submit(claim, server, token, wait_seconds=20)
    with pytest.raises(TimeoutError):
        future.result(0.5)
    job, took = timed(lambda: Job.objects.enqueue(TYPE) and future.result(20))
    assert (job.status, job.body["id"]) == (200, Job.objects.get().pk)
    assert took < 5


def test_a_claim_that_waits_in_vain_answers_204_when_its_time_is_over(server, token):
    answer, took = timed(lambda: claim(server, token, wait_seconds=1))
    assert answer.status == 204
    assert 1 <= took < 10


def test_a_job_that_is_there_is_answered_at_once(server, token):
    Job.objects.enqueue(TYPE)
    answer, took = timed(lambda: claim(server, token, wait_seconds=20))
    assert answer.status == 200
    assert took < 5


def test_a_batch_waits_too(server, token, waiting):
    body = {"worker_id": "w", "limit": 5, "wait_seconds": 20}
    future = waiting.submit(post, f"{server}/jobs/claim-batch", token, body)
    with pytest.raises(TimeoutError):
        future.result(0.3)
    Job.objects.enqueue(TYPE)
    assert len(future.result(20).body["jobs"]) == 1


def test_a_job_of_another_queue_or_type_ends_no_wait(server, token, waiting):
    future = waiting.submit(claim, server, token, queues=["a"], types=[TYPE], wait_seconds=20)
    Job.objects.enqueue(TYPE, queue="b")
    Job.objects.enqueue("test.noop", queue="a")
    with pytest.raises(TimeoutError):
        future.result(1)
    wanted = Job.objects.enqueue(TYPE, queue="a")
    assert future.result(20).body["id"] == wanted.pk


def test_of_many_that_wait_each_gets_a_job_of_its_own(server, token, waiting):
    futures = [waiting.submit(claim, server, token, wait_seconds=20) for _ in range(10)]
    with pytest.raises(TimeoutError):
        futures[0].result(0.5)
    Job.objects.enqueue_many([{"type": TYPE}] * 10)
    assert len({future.result(20).body["id"] for future in futures}) == 10


def test_a_wait_with_a_request_id_claims_once(server, token, waiting):
    futures = [waiting.submit(claim, server, token, wait_seconds=20, request_id="r") for _ in range(3)]
    with pytest.raises(TimeoutError):
        futures[0].result(0.3)
    Job.objects.enqueue_many([{"type": TYPE}] * 5)
    assert len({future.result(20).body["id"] for future in futures}) == 1


def test_no_more_claims_wait_than_the_setting_allows(processes, token, waiting):
    server = start_server(processes, API_MAX_WAITING=2)
    futures = [waiting.submit(claim, server, token, wait_seconds=20) for _ in range(2)]
    for future in futures:
        with pytest.raises(TimeoutError):
            future.result(1)
    answer, took = timed(lambda: claim(server, token, wait_seconds=15))
    assert answer.status == 204
    assert took < 10
    Job.objects.enqueue_many([{"type": TYPE}] * 2)
    assert [future.result(20).status for future in futures] == [200, 200]


def test_a_principal_that_waits_everywhere_leaves_others_their_share(processes, token, waiting):
    server = start_server(processes, API_MAX_WAITING=4)
    other = make_caller("other", "work_job").token
    greedy = [waiting.submit(claim, server, token, wait_seconds=20) for _ in range(4)]
    with pytest.raises(TimeoutError):
        greedy[0].result(2)
    modest = [waiting.submit(claim, server, other, wait_seconds=20) for _ in range(2)]
    wait_until(lambda: sum(future.done() for future in greedy) == 2)
    assert [future.result().status for future in greedy if future.done()] == [204, 204]
    assert not any(future.done() for future in modest)
    for one in (token, other):  # each has its half: nobody is sent away any more
        answer, took = timed(lambda one=one: claim(server, one, wait_seconds=15))
        assert (answer.status, took < 10) == (204, True)
    Job.objects.enqueue_many([{"type": TYPE}] * 4)
    assert [future.result(20).status for future in modest] == [200, 200]
    assert sorted(future.result(20).status for future in greedy) == [200, 200, 204, 204]


def test_a_caller_that_goes_away_takes_no_job(processes, token):
    server = start_server(processes, API_MAX_WAITING=1)
    target = urlsplit(server)
    data = json.dumps({"worker_id": "w", "wait_seconds": 20}).encode()
    head = (
        f"POST /jobs/claim HTTP/1.1\r\nHost: {target.netloc}\r\nAuthorization: Token {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )

    def waits(seconds):
        answer, took = timed(lambda: claim(server, token, wait_seconds=seconds))
        assert answer.status == 204
        return took >= seconds

    with socket.create_connection((target.hostname, target.port), timeout=30) as connection:
        connection.sendall(head.encode() + data)
        connection.settimeout(1)
        with pytest.raises(TimeoutError):
            connection.recv(1)  # it waits
        assert not waits(2)  # and has the one place
    wait_until(lambda: waits(0.5))  # and free again
    Job.objects.enqueue(TYPE)
    assert claim(server, token).status == 200


@pytest.mark.parametrize("path", ["/jobs/claim", "/jobs/claim-batch"])
def test_under_wsgi_a_wait_is_refused(worker, path):
    Job.objects.enqueue(TYPE)
    body = {"worker_id": "w", "wait_seconds": 5, **({"limit": 1} if "batch" in path else {})}
    response = worker.post(path, body)
    assert response.status_code == 400
    assert "ASGI" in response.json()["wait_seconds"][0]
    assert Job.objects.get().status == "pending"


def test_no_wait_is_no_wait_anywhere(worker):
    assert worker.post("/jobs/claim", {"worker_id": "w", "wait_seconds": 0}).status_code == 204


@pytest.mark.parametrize("seconds", [-1, 20.1, 10**300, "5", True, [1]])
def test_a_bad_wait_is_refused(worker, seconds):
    response = worker.post("/jobs/claim", {"worker_id": "w", "wait_seconds": seconds})
    assert (response.status_code, list(response.json())) == (400, ["wait_seconds"])

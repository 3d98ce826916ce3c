"""The relay as it runs in production: worker processes that are killed, receivers and brokers that go away."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection, Queue

from django_jobqueue import constant
from django_jobqueue.models import Job
from django_jobqueue.outbox import enqueue_message, enqueue_webhook
from tests.outbox.conftest import SECRET
from tests.support.processes import Processes, kill, wait_until
from tests.support.rabbitmq import RabbitMQServer
from tests.support.receiver import Receiver, answer
from tests.support.relay import run_relay

pytestmark = pytest.mark.django_db(transaction=True)


def completed() -> int:
    return Job.objects.filter(status="completed").count()


class Unwilling:
    """Fails the first attempt of every message."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, receiver: Receiver, handler: Any) -> None:
        with self._lock:
            self._seen[handler.headers["webhook-id"]] += 1
            status = 503 if self._seen[handler.headers["webhook-id"]] == 1 else 200
        answer(status)(receiver, handler)


def test_no_web_hook_is_lost_when_receiver_and_worker_fail(receiver: Receiver, processes: Processes):
    receiver.replies = [Unwilling()]
    options = {"WEBHOOK_ALLOWED_NETWORKS": ["127.0.0.0/8"], "WEBHOOK_SECRETS": {"default": SECRET}}
    for number in range(60):
        enqueue_webhook(receiver.url, number, backoff=constant(0.3))
    worker = processes.start(run_relay, options, lease=3, concurrency=2)
    wait_until(lambda: completed() > 5)
    kill(worker)
    worker.join(10)
    processes.start(run_relay, options, lease=3, concurrency=2)
    wait_until(lambda: completed() == 60)
    bodies: dict[str, set[int]] = {}
    for request in receiver.requests:
        bodies.setdefault(request.headers["webhook-id"], set()).add(json.loads(request.body))
    assert sorted(bodies.values(), key=min) == [{number} for number in range(60)]
    results = Job.objects.order_by("pk").values_list("result", flat=True)
    assert {result["message_id"] for result in results} == set(bodies)


@pytest.fixture
def rabbitmq() -> Iterator[RabbitMQServer]:
    if reason := RabbitMQServer.missing():
        pytest.skip(reason)
    server = RabbitMQServer()
    yield server
    server.remove()


def test_no_message_is_lost_while_the_broker_is_stopped_and_started(
    rabbitmq: RabbitMQServer, processes: Processes
):
    with Connection(rabbitmq.url) as connection:
        Queue("orders", durable=True)(connection.channel()).declare()
    processes.start(run_relay, {"BROKER_URL": rabbitmq.url, "BROKER_TIMEOUT": 2}, concurrency=2)
    for number in range(100):
        enqueue_message(number, routing_key="orders")
    wait_until(lambda: completed() > 20)
    rabbitmq.stop()
    for number in range(100, 150):
        enqueue_message(number, routing_key="orders")
    wait_until(
        Job.objects.filter(status="scheduled", error__startswith="The broker cannot be reached").exists
    )
    rabbitmq.start()
    wait_until(lambda: completed() == 150, timeout=60)
    assert not Job.objects.exclude(retry_count=0).exists()
    assert arrived(rabbitmq.url) == {
        (job.payload["body"], job.result["message_id"]) for job in Job.objects.all()
    }


def arrived(url: str) -> set[tuple[int, str]]:
    """What the consumer finds, and the ids; what was sent twice is one."""
    found = set()
    with Connection(url) as connection, connection.channel() as channel:
        while (message := channel.basic_get("orders", no_ack=True)) is not None:
            found.add((json.loads(message.body), message.properties["message_id"]))
    return found

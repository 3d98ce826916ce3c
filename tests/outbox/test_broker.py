"""Messages to a real RabbitMQ, through a proxy that can cut the connection."""

from __future__ import annotations

import json
import socket
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from kombu import Connection, Exchange, Queue

from django_jobqueue.models import Job
from django_jobqueue.outbox import broker, enqueue_message
from tests.support.proxy import Proxy
from tests.support.rabbitmq import PORT, missing

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(bool(missing()), reason=missing()),
]

EVENT = {"order": 42, "name": "Käse"}


class Consumer:
    """A consumer's side: a queue of its own, and what is in it."""

    def __init__(self) -> None:
        self.name = f"jobqueue-test-{uuid.uuid4().hex[:12]}"
        self._connection = Connection(f"amqp://guest:guest@127.0.0.1:{PORT}//")
        self.channel = self._connection.channel()

    def declare(self, arguments: dict[str, Any] | None = None, exchange: str = "") -> None:
        """Declare the queue; bound to a topic exchange of its own if one is named."""
        if exchange:
            bound = Queue(
                self.name,
                Exchange(exchange, "topic", durable=False, auto_delete=True),
                "order.#",
                exclusive=True,
            )
        else:
            bound = Queue(self.name, exclusive=True, queue_arguments=arguments)
        bound(self.channel).declare()

    def messages(self) -> list[Any]:
        """What is in the queue; it is empty then."""
        got = []
        while (message := self.channel.basic_get(self.name, no_ack=True)) is not None:
            got.append(message)
        return got

    def close(self) -> None:
        """The queue goes with the connection."""
        self._connection.release()


@pytest.fixture
def consumer() -> Iterator[Consumer]:
    consuming = Consumer()
    yield consuming
    consuming.close()


@pytest.fixture
def proxy(options) -> Iterator[Proxy]:
    passing = Proxy(PORT)
    options(BROKER_URL=f"amqp://guest:guest@127.0.0.1:{passing.port}//", BROKER_TIMEOUT=5)
    yield passing
    broker._broker().close()
    passing.close()


def publish(run_jobs, routing_key, body=EVENT, **options) -> Job:
    """One attempt; the job after it."""
    job = enqueue_message(body, routing_key=routing_key, **options)
    run_jobs()
    return Job.objects.get(pk=job.pk)


def end_of(job: Job) -> tuple[str, int]:
    return job.status, job.retry_count


def test_a_message_arrives_persistent_with_its_id_and_headers(consumer, proxy, run_jobs):
    consumer.declare()
    job = publish(run_jobs, consumer.name, headers={"version": 2, "source": "shop"})
    assert job.status == "completed"
    (message,) = consumer.messages()
    assert json.loads(message.body) == EVENT
    assert message.headers == {"version": 2, "source": "shop"}
    properties = message.properties
    assert (message.content_type, message.content_encoding) == ("application/json", "utf-8")
    assert (properties["delivery_mode"], properties["message_id"]) == (2, job.result["message_id"])


def test_a_message_goes_to_an_exchange(consumer, proxy, run_jobs):
    consumer.declare(exchange=f"{consumer.name}-exchange")
    publish(run_jobs, "order.paid", exchange=f"{consumer.name}-exchange")
    (message,) = consumer.messages()
    assert message.delivery_info["routing_key"] == "order.paid"


def test_one_connection_is_used_for_many_messages(consumer, proxy, run_jobs):
    consumer.declare()
    for number in range(20):
        enqueue_message(number, routing_key=consumer.name)
    assert run_jobs() == {"completed": 20}
    assert (len(consumer.messages()), proxy.connections) == (20, 1)


def test_a_message_that_has_no_queue_waits_for_one_and_keeps_its_id(consumer, proxy, run_jobs):
    job = publish(run_jobs, consumer.name)
    assert end_of(job) == ("scheduled", 1)
    assert job.error == (
        f"NotDelivered: The broker has no queue for the message (exchange '', routing key '{consumer.name}'); its "
        "consumer declares one."
    )
    consumer.declare()
    assert run_jobs(until=timedelta(minutes=1)) == {"completed": 1}
    (message,) = consumer.messages()
    assert message.properties["message_id"] == Job.objects.get(pk=job.pk).result["message_id"]


def test_a_message_to_an_exchange_that_is_not_there_says_so(proxy, run_jobs):
    job = publish(run_jobs, "order.paid", exchange="jobqueue-test-nowhere")
    assert end_of(job) == ("scheduled", 1)
    assert "The broker refused the message (exchange 'jobqueue-test-nowhere'" in job.error
    assert "NOT_FOUND" in job.error


def test_a_message_that_the_broker_does_not_take_is_tried_again(consumer, proxy, run_jobs):
    consumer.declare({"x-max-length": 1, "x-overflow": "reject-publish"})
    assert publish(run_jobs, consumer.name, 1).status == "completed"
    job = publish(run_jobs, consumer.name, 2)
    assert end_of(job) == ("scheduled", 1)
    assert "has no room for it" in job.error
    assert len(consumer.messages()) == 1
    assert run_jobs(until=timedelta(minutes=1)) == {"completed": 1}
    assert [json.loads(message.body) for message in consumer.messages()] == [2]


def test_a_connection_that_was_cut_while_it_was_idle_costs_no_attempt(consumer, proxy, run_jobs):
    consumer.declare()
    publish(run_jobs, consumer.name)
    proxy.cut()
    assert end_of(publish(run_jobs, consumer.name)) == ("completed", 0)
    assert (len(consumer.messages()), proxy.connections) == (2, 2)


def test_while_the_broker_is_away_messages_wait_and_no_retry_is_counted(
    consumer, proxy, run_jobs, monkeypatch
):
    monkeypatch.setattr(broker, "_RECOVERY", 0)
    consumer.declare()
    proxy.refuse()
    job = publish(run_jobs, consumer.name)
    assert run_jobs(until=timedelta(minutes=10)).keys() == {"released"}
    waiting = Job.objects.get(pk=job.pk)
    assert (end_of(waiting), waiting.attempts.count()) == (("scheduled", 0), 0)
    assert waiting.error.startswith("The broker cannot be reached: ")
    assert waiting.fencing_token < 15
    proxy.listen()
    assert run_jobs(until=timedelta(minutes=5)) == {"completed": 1}
    assert [json.loads(message.body) for message in consumer.messages()] == [EVENT]


def test_a_broker_that_was_away_a_moment_ago_is_not_asked_by_every_message(proxy, run_jobs, caplog):
    proxy.refuse()
    for number in range(10):
        enqueue_message(number, routing_key="orders")
    assert run_jobs() == {"released": 10}
    assert caplog.text.count("The broker cannot be reached") == 1


def test_a_message_whose_confirmation_was_lost_is_sent_again_under_the_same_id(
    consumer, proxy, run_jobs, options, monkeypatch
):
    monkeypatch.setattr(broker, "_RECOVERY", 0)
    options(BROKER_TIMEOUT=0.5)
    consumer.declare()
    publish(run_jobs, consumer.name, "first")
    proxy.swallow_answers()
    job = publish(run_jobs, consumer.name, "second")
    assert end_of(job) == ("scheduled", 0)
    proxy.pass_answers()
    run_jobs(until=timedelta(minutes=5))
    _, *sent = consumer.messages()
    assert [json.loads(message.body) for message in sent] == ["second"] * len(sent)
    assert len(sent) == 2
    ids = {message.properties["message_id"] for message in sent}
    assert ids == {Job.objects.get(pk=job.pk).result["message_id"]}


def test_a_broker_that_takes_the_connection_and_says_nothing_is_given_up(options, run_jobs):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        options(BROKER_URL=f"amqp://guest:guest@127.0.0.1:{silent.getsockname()[1]}//", BROKER_TIMEOUT=0.3)
        assert end_of(publish(run_jobs, "orders")) == ("scheduled", 0)


def test_a_password_that_is_wrong_is_told_and_not_shown(options, run_jobs, caplog):
    options(BROKER_URL=f"amqp://guest:hunter2@127.0.0.1:{PORT}//")
    job = publish(run_jobs, "orders")
    assert end_of(job) == ("scheduled", 1)
    assert "The broker refused the connection" in job.error
    assert "hunter2" not in job.error + job.attempts.get().traceback + caplog.text


def test_a_virtual_host_that_is_not_there_is_told(options, run_jobs):
    options(BROKER_URL=f"amqp://guest:guest@127.0.0.1:{PORT}/nowhere")
    job = publish(run_jobs, "orders")
    assert end_of(job) == ("scheduled", 1)
    assert "The broker refused the connection" in job.error


def test_the_second_host_of_the_url_is_tried(consumer, proxy, options, run_jobs):
    consumer.declare()
    dead = Proxy(PORT)
    dead.refuse()
    urls = [f"amqp://guest:guest@127.0.0.1:{port}//" for port in (dead.port, proxy.port)]
    options(BROKER_URL=";".join(urls))
    assert end_of(publish(run_jobs, consumer.name)) == ("completed", 0)

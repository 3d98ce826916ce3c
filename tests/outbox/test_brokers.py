"""What needs no RabbitMQ: other brokers of kombu's, and what is missing."""

from __future__ import annotations

import sys

import pytest
from kombu import Connection

from django_jobqueue.models import Job
from django_jobqueue.outbox import broker, enqueue_message

pytestmark = pytest.mark.django_db


def publish(run_jobs) -> Job:
    job = enqueue_message({"order": 42}, routing_key="orders", headers={"v": 1})
    run_jobs()
    return Job.objects.get(pk=job.pk)


def test_a_broker_without_exchanges_and_confirmations_works_too(options, run_jobs):
    options(BROKER_URL="memory://", BROKER_OPTIONS={"transport_options": {"polling_interval": 0.01}})
    job = publish(run_jobs)
    assert job.status == "completed"
    with Connection("memory://") as connection, connection.SimpleQueue("orders") as queue:
        message = queue.get(timeout=5)
        assert (message.payload, message.headers) == ({"order": 42}, {"v": 1})
        assert message.properties["message_id"] == job.result["message_id"]
        message.ack()
    broker._broker().close()


def test_without_the_url_of_a_broker_the_job_says_so(options, run_jobs):
    job = publish(run_jobs)
    assert (job.status, job.retry_count) == ("scheduled", 1)
    assert job.error == "NotDelivered: BROKER_URL is not set, so there is no broker to publish to."


def test_a_worker_without_the_extra_says_what_to_install(options, run_jobs, monkeypatch):
    monkeypatch.delitem(sys.modules, "django_jobqueue.outbox.broker", raising=False)
    monkeypatch.setitem(sys.modules, "kombu", None)
    job = publish(run_jobs)
    assert (job.status, job.retry_count) == ("scheduled", 1)
    assert "pip install kombu" in job.error

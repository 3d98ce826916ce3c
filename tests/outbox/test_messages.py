"""What can be put into the outbox."""

from __future__ import annotations

import pytest

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.models import Job
from django_jobqueue.outbox import enqueue_message, enqueue_webhook

pytestmark = pytest.mark.django_db

URL = "https://hooks.shop.example/paid"

BAD_WEBHOOKS = {
    "no url": ({"url": ""}, "url"),
    "a url that is no text": ({"url": 5}, "url"),
    "a url that is too long": ({"url": f"https://shop.example/{'x' * 2000}"}, "url"),
    "another scheme": ({"url": "ftp://shop.example/"}, "url"),
    "a file": ({"url": "file:///etc/passwd"}, "url"),
    "no scheme": ({"url": "shop.example/paid"}, "url"),
    "no host": ({"url": "https:///paid"}, "url"),
    "port 0": ({"url": "https://shop.example:0/"}, "url"),
    "a port out of range": ({"url": "https://shop.example:70000/"}, "url"),
    "a port that is no number": ({"url": "https://shop.example:http/"}, "url"),
    "half a bracket": ({"url": "https://[::1/"}, "url"),
    "a user and a password": ({"url": "https://user:pass@shop.example/"}, "url"),
    "a line break": ({"url": "https://shop.example/\r\nHost: other"}, "url"),
    "a space": ({"url": "https://shop.example/a b"}, "url"),
    "a backslash": ({"url": "https://shop.example\\@other.example/"}, "url"),
    "letters that are not ASCII": ({"url": "https://shop.example/käse"}, "url"),
    "data that is no JSON": ({"data": {1}}, "payload.data"),
    "a blank secret": ({"secret": " "}, "secret"),
    "a secret that is no name": ({"secret": 5}, "secret"),
    "headers that are no object": ({"headers": ["X-A"]}, "headers"),
    "too many headers": ({"headers": {f"X-{number}": "" for number in range(51)}}, "headers"),
    "a header's name with a space": ({"headers": {"X A": "1"}}, "headers"),
    "a header of the delivery's own": ({"headers": {"Webhook-ID": "1"}}, "headers"),
    "another host": ({"headers": {"host": "other.example"}}, "headers"),
    "a header that is no text": ({"headers": {"X-A": 1}}, "headers.X-A"),
    "a header of two lines": ({"headers": {"X-A": "1\r\nX-B: 2"}}, "headers.X-A"),
}

BAD_MESSAGES = {
    "nowhere to go": ({}, "routing_key"),
    "a routing key that is no text": ({"routing_key": 5}, "routing_key"),
    "a blank routing key": ({"routing_key": " "}, "routing_key"),
    "a routing key of too many bytes": ({"routing_key": "ä" * 200}, "routing_key"),
    "an exchange that is too long": ({"exchange": "x" * 256}, "exchange"),
    "a body that is no JSON": ({"routing_key": "q", "body": {1}}, "payload.body"),
    "a header that is nested": ({"routing_key": "q", "headers": {"a": {}}}, "headers.a"),
    "a header without a name": ({"routing_key": "q", "headers": {"": 1}}, "headers"),
}


@pytest.mark.parametrize(("bad", "field"), BAD_WEBHOOKS.values(), ids=BAD_WEBHOOKS)
def test_a_web_hook_that_cannot_be_sent_is_refused_by_name(bad, field):
    with pytest.raises(InvalidJob) as refusal:
        enqueue_webhook(**{"url": URL, "data": {}, **bad})
    assert refusal.value.field == field
    assert not Job.objects.exists()


@pytest.mark.parametrize(("bad", "field"), BAD_MESSAGES.values(), ids=BAD_MESSAGES)
def test_a_message_that_cannot_be_sent_is_refused_by_name(bad, field):
    with pytest.raises(InvalidJob) as refusal:
        enqueue_message(**{"body": {}, **bad})
    assert refusal.value.field == field
    assert not Job.objects.exists()


def test_a_web_hook_is_a_job():
    job = enqueue_webhook(URL, {"order": 42}, idempotency_key="order-42", queue="hooks", priority="high")
    assert (job.type, job.queue, job.priority_label, job.max_retries) == (
        "jobqueue.webhook",
        "hooks",
        "high",
        17,
    )
    assert job.payload == {"url": URL, "data": {"order": 42}, "secret": "default"}


def test_a_message_is_a_job():
    job = enqueue_message(
        [1, "two"], exchange="shop", routing_key="order.paid", headers={"v": 1}, max_retries=3
    )
    assert (job.type, job.queue, job.max_retries) == ("jobqueue.message", "default", 3)
    assert job.payload == {
        "body": [1, "two"],
        "exchange": "shop",
        "routing_key": "order.paid",
        "headers": {"v": 1},
    }


def test_the_same_key_is_one_web_hook():
    jobs = [enqueue_webhook(URL, {"order": 42}, idempotency_key="order-42") for _ in range(2)]
    assert (jobs[0].pk, jobs[1].replayed) == (jobs[1].pk, True)


@pytest.mark.parametrize(
    "payload", [{}, {"url": "ftp://shop.example/", "data": 1}, {"url": URL, "data": 1, "x": 1}]
)
@pytest.mark.parametrize("type", ["jobqueue.webhook", "jobqueue.message"])
def test_a_payload_that_was_enqueued_past_the_checks_fails_for_good(run_jobs, type, payload):
    job = Job.objects.enqueue(type, payload)
    assert run_jobs() == {"failed": 1}
    assert Job.objects.get(pk=job.pk).error.startswith("PermanentFailure: payload: ")

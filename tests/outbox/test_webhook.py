"""Web hooks against a real server that does all that servers do."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from django.db import transaction
from standardwebhooks import Webhook, WebhookVerificationError

from django_jobqueue import constant
from django_jobqueue.models import Job
from django_jobqueue.outbox import enqueue_webhook
from tests.outbox.conftest import SECRET
from tests.support.receiver import answer, cut, drip, endless, hang
from tests.support.servers import free_port

pytestmark = pytest.mark.django_db

EVENT = {"type": "order.paid", "data": {"order": 42, "name": "Käse"}}
OTHER_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def deliver(run_jobs, url, data=EVENT, **options):
    """One attempt; the job after it."""
    job = enqueue_webhook(url, data, **options)
    run_jobs()
    return Job.objects.get(pk=job.pk)


def end_of(job):
    return job.status, job.retry_count


def test_the_data_is_posted_as_json(receiver, run_jobs):
    deliver(run_jobs, receiver.url)
    (request,) = receiver.requests
    assert (request.path, json.loads(request.body)) == ("/hook", EVENT)
    assert request.headers["content-type"] == "application/json"
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"


def test_the_receiver_can_verify_the_signature(receiver, run_jobs):
    deliver(run_jobs, receiver.url)
    (request,) = receiver.requests
    assert Webhook(SECRET).verify(request.body, request.headers) == EVENT


def test_another_body_does_not_verify(receiver, run_jobs):
    deliver(run_jobs, receiver.url)
    (request,) = receiver.requests
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(request.body.replace(b"42", b"43"), request.headers)


def test_while_one_secret_replaces_another_both_verify(receiver, run_jobs, options):
    options(WEBHOOK_SECRETS={"default": [OTHER_SECRET, SECRET]})
    deliver(run_jobs, receiver.url)
    (request,) = receiver.requests
    for secret in (SECRET, OTHER_SECRET):
        assert Webhook(secret).verify(request.body, request.headers) == EVENT


def secret_of(name):
    """A source of secrets, such as a table of customers."""
    Job.objects.count()
    return {"customer-7": OTHER_SECRET}.get(name)


@pytest.mark.parametrize("source", [secret_of, f"{__name__}.secret_of"])
def test_the_secrets_may_come_from_a_function(receiver, run_jobs, options, source):
    options(WEBHOOK_SECRETS=source)
    deliver(run_jobs, receiver.url, secret="customer-7")
    (request,) = receiver.requests
    assert Webhook(OTHER_SECRET).verify(request.body, request.headers) == EVENT


def test_without_its_secret_nothing_is_sent_and_the_job_says_why(receiver, run_jobs):
    job = deliver(run_jobs, receiver.url, secret="customer-8")
    assert end_of(job) == ("scheduled", 1)
    assert (
        job.error
        == "NotDelivered: secret: WEBHOOK_SECRETS has none that is named 'customer-8'. Nothing was sent."
    )
    assert receiver.requests == []


def test_a_web_hook_can_go_unsigned(receiver, run_jobs, options):
    options(WEBHOOK_SECRETS=None)
    assert deliver(run_jobs, receiver.url, secret=None).status == "completed"
    (request,) = receiver.requests
    assert "webhook-signature" not in request.headers
    assert request.headers["webhook-id"]


def test_headers_of_the_producers_own_are_sent(receiver, run_jobs):
    deliver(run_jobs, receiver.url, headers={"X-Shop": "berlin", "User-Agent": "shop"})
    (request,) = receiver.requests
    assert (request.headers["x-shop"], request.headers["user-agent"]) == ("berlin", "shop")


def test_the_job_keeps_the_answer(receiver, run_jobs):
    receiver.replies = [answer(202, b"queued \x00 \xff")]
    job = deliver(run_jobs, receiver.url)
    assert job.status == "completed"
    assert job.result == {"message_id": receiver.ids[0], "status": 202, "body": "queued \\x00 \ufffd"}


def test_the_answer_is_kept_as_far_as_a_result_may_be_long(receiver, run_jobs, options):
    options(MAX_RESULT_BYTES=300)
    receiver.replies = [answer(200, b"\x01" * 1000)]
    job = deliver(run_jobs, receiver.url)
    assert (job.status, job.result["body"]) == ("completed", "\x01" * 16)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 410, 422, 451])
def test_a_refusal_for_good_is_not_tried_again(receiver, run_jobs, status):
    receiver.replies = [answer(status, b"no")]
    job = deliver(run_jobs, receiver.url)
    assert end_of(job) == ("failed", 0)
    assert job.error.startswith(f"PermanentFailure: The receiver answered {status}: no")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again_under_the_same_id(receiver, run_jobs, status):
    receiver.replies = [answer(status, b"later"), answer(200)]
    job = enqueue_webhook(receiver.url, EVENT)
    assert run_jobs() == {"retried": 1}
    assert Job.objects.get(pk=job.pk).error == f"NotDelivered: The receiver answered {status}: later"
    assert run_jobs(until=timedelta(minutes=1)) == {"completed": 1}
    assert receiver.ids[0] == receiver.ids[1]


def test_every_attempt_has_a_signature_of_its_own_time(receiver, run_jobs):
    receiver.replies = [answer(500), answer(200)]
    enqueue_webhook(receiver.url, EVENT, backoff=constant(0))
    run_jobs()
    assert [Webhook(SECRET).verify(got.body, got.headers) for got in receiver.requests] == [EVENT, EVENT]


def test_a_replay_by_a_person_has_the_same_id_too(receiver, run_jobs):
    receiver.replies = [answer(404), answer(200)]
    job = deliver(run_jobs, receiver.url)
    Job.objects.retry(job.pk)
    assert run_jobs() == {"completed": 1}
    assert receiver.ids[0] == receiver.ids[1]


def test_two_web_hooks_have_two_ids(receiver, run_jobs):
    for _ in range(2):
        enqueue_webhook(receiver.url, EVENT)
    run_jobs()
    assert len(set(receiver.ids)) == 2


def test_the_id_comes_from_the_idempotency_key(receiver, run_jobs):
    job = deliver(run_jobs, receiver.url, idempotency_key="order-42-paid")
    run_jobs()
    Job.objects.filter(pk=job.pk).delete()
    deliver(run_jobs, receiver.url, idempotency_key="order-42-paid")
    assert len(receiver.ids) == 2
    assert receiver.ids[0] == receiver.ids[1]


def seconds_ahead(job):
    return (job.run_at - datetime.now(UTC)).total_seconds()


def test_retry_after_in_seconds_is_honoured(receiver, run_jobs):
    receiver.replies = [answer(429, Retry_After="120")]
    job = deliver(run_jobs, receiver.url)
    assert job.error == "RetryLater: The receiver answered 429."
    assert seconds_ahead(job) == pytest.approx(120, abs=10)


def test_retry_after_as_a_date_is_honoured(receiver, run_jobs):
    date = datetime.now(UTC) + timedelta(minutes=10)
    receiver.replies = [answer(503, Retry_After=format_datetime(date, usegmt=True))]
    assert seconds_ahead(deliver(run_jobs, receiver.url)) == pytest.approx(600, abs=10)


def test_a_receiver_cannot_put_a_delivery_off_for_ever(receiver, run_jobs):
    receiver.replies = [answer(503, Retry_After="999999999999")]
    assert seconds_ahead(deliver(run_jobs, receiver.url)) == pytest.approx(86400, abs=10)


def test_a_receiver_cannot_ask_for_more_haste_than_the_backoff_has(receiver, run_jobs):
    receiver.replies = [answer(503, Retry_After="1")]
    job = deliver(run_jobs, receiver.url, backoff=constant(300))
    assert seconds_ahead(job) == pytest.approx(300, abs=10)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(receiver, run_jobs, status):
    receiver.replies = [answer(status, Location=f"{receiver.url}/elsewhere")]
    job = deliver(run_jobs, receiver.url)
    assert end_of(job) == ("failed", 0)
    assert (
        f"answered {status} and points to {receiver.url}/elsewhere. Redirects are not followed" in job.error
    )
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("reply", [hang, drip])
def test_a_receiver_that_hangs_is_given_up_in_time(receiver, run_jobs, options, reply):
    options(WEBHOOK_TIMEOUT=0.4)
    receiver.replies = [reply, answer(200)]
    started = time.monotonic()
    job = deliver(run_jobs, receiver.url)
    assert time.monotonic() - started < 5
    assert end_of(job) == ("scheduled", 1)
    assert job.error == "NotDelivered: The receiver gave no answer within 0.4 s."
    assert run_jobs(until=timedelta(minutes=1)) == {"completed": 1}
    assert receiver.ids[0] == receiver.ids[1]


def test_of_a_body_without_end_only_the_beginning_is_read(receiver, run_jobs, options):
    options(WEBHOOK_MAX_RESPONSE_BYTES=100)
    receiver.replies = [endless(200)]
    job = deliver(run_jobs, receiver.url)
    assert (job.status, job.result["body"]) == ("completed", "more " * 20)
    assert receiver.broken_off.wait(10)
    assert receiver.sent < 20_000_000


def test_a_body_that_stalls_changes_nothing_about_what_was_answered(receiver, run_jobs, options):
    options(WEBHOOK_TIMEOUT=0.5, WEBHOOK_MAX_RESPONSE_BYTES=65536)
    receiver.replies = [endless(500, pause=0.2), endless(200, pause=0.2)]
    job = deliver(run_jobs, receiver.url)
    assert end_of(job) == ("scheduled", 1)
    assert job.error.startswith("NotDelivered: The receiver answered 500")
    assert run_jobs(until=timedelta(minutes=1)) == {"completed": 1}


def test_a_connection_that_breaks_off_is_tried_again(receiver, run_jobs):
    receiver.replies = [cut, answer(200)]
    job = deliver(run_jobs, receiver.url)
    assert end_of(job) == ("scheduled", 1)
    assert job.error.startswith("NotDelivered: The receiver could not be reached, or broke off: ")
    assert run_jobs(until=timedelta(minutes=1)) == {"completed": 1}


def test_a_receiver_that_is_not_there_is_tried_again(receiver, run_jobs):
    job = deliver(run_jobs, f"http://127.0.0.1:{free_port()}/")
    assert end_of(job) == ("scheduled", 1)
    assert job.error.startswith("NotDelivered: The receiver could not be reached, or broke off: ConnectError")


def test_a_host_that_has_no_address_is_tried_again(receiver, run_jobs):
    job = deliver(run_jobs, "http://there-is-no-such-host.invalid/")
    assert end_of(job) == ("scheduled", 1)
    assert job.error.startswith("NotDelivered: The receiver could not be reached, or broke off: gaierror")


def test_proxies_of_the_environment_are_not_used(receiver, run_jobs, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    assert deliver(run_jobs, receiver.url).status == "completed"


@pytest.mark.django_db(transaction=True)
def test_a_web_hook_of_a_transaction_that_was_rolled_back_is_never_sent(receiver, run_jobs):
    with pytest.raises(RuntimeError), transaction.atomic():
        enqueue_webhook(receiver.url, EVENT)
        raise RuntimeError
    assert (run_jobs(), receiver.requests) == ({}, [])


def test_neither_error_nor_log_hold_a_secret_or_the_data(receiver, run_jobs, caplog):
    caplog.set_level(0)
    receiver.replies = [answer(500), hang]
    job = deliver(run_jobs, f"{receiver.url}?customer=jane")
    attempt = job.attempts.get()
    signature = receiver.requests[0].headers["webhook-signature"]
    said = f"{job.error} {attempt.message} {attempt.traceback}"
    assert [word for word in (SECRET[6:], signature, "Käse", "jane") if word in said] == []
    assert [word for word in (SECRET[6:], signature, "Käse", "jane") if word in caplog.text] == []


def test_the_retries_of_a_web_hook_go_on_for_a_day(receiver, run_jobs):
    receiver.replies = [answer(500)]
    job = deliver(run_jobs, receiver.url)
    run_jobs(until=timedelta(hours=18))
    assert Job.objects.get(pk=job.pk).status == "scheduled"
    run_jobs(until=timedelta(hours=12))
    job = Job.objects.get(pk=job.pk)
    assert end_of(job) == ("failed", job.max_retries)
    assert len(set(receiver.ids)) == 1


def test_a_worker_without_the_extra_says_what_to_install(receiver, run_jobs, monkeypatch):
    monkeypatch.delitem(sys.modules, "django_jobqueue.outbox.webhook", raising=False)
    monkeypatch.setitem(sys.modules, "standardwebhooks", None)
    job = deliver(run_jobs, receiver.url)
    assert end_of(job) == ("scheduled", 1)
    assert "pip install httpx standardwebhooks" in job.error

"""What is sensitive stays out of what people read: texts of errors, and the reports of a failing enqueue."""

from __future__ import annotations

import json
from html import escape
from typing import Any
from urllib.parse import quote_plus

import pytest
from django.views.debug import ExceptionReporter

from django_jobqueue import registry
from django_jobqueue.jobs.sensitive import MASK, redact_text
from django_jobqueue.models import Job
from django_jobqueue.outbox import enqueue_message, enqueue_webhook
from django_jobqueue.tasks import enqueue_many
from django_jobqueue.vendors import Vendor
from tests.tasks_backend import tasks

SECRETS = [
    "Geheim'nis",
    'back\\slash "quote"',
    "Schlüssel😀",
    "line\nbreak\ttab",
    "a&b<c> d/e",
    "4111 1111",
    41111111,
    1.25e30,
]


@pytest.mark.parametrize("secret", SECRETS, ids=repr)
@pytest.mark.parametrize(
    "show",
    [
        str,
        repr,
        ascii,
        json.dumps,
        lambda value: json.dumps({"card": value}, ensure_ascii=False),
        lambda value: repr({"card": [value]}),
        lambda value: repr(str(value).encode()),
        lambda value: f"https://bank.test/?card={quote_plus(str(value))}&x=1",
        lambda value: escape(str(value)),
    ],
)
def test_a_value_is_masked_in_every_form_that_a_message_may_give_it(secret: Any, show: Any):
    text = f"the bank refused {show(secret)}!"
    masked = redact_text(text, {"card": secret, "open": "the bank"}, ["card"])
    assert MASK in masked
    assert show(secret).strip("'\"") not in masked
    assert masked.startswith("the bank refused ")


@pytest.mark.parametrize("secret", ["123", "no", "7"])
def test_a_short_value_is_masked_in_quotes(secret: str):
    payload = {"pin": secret}
    assert redact_text(f"bad {payload!r}", payload, ["pin"]) == f"bad {{'pin': {MASK}}}"
    assert redact_text(f"bad {json.dumps(payload)}", payload, ["pin"]) == f'bad {{"pin": {MASK}}}'
    assert (
        redact_text(f"there is no 123 and 7 {secret}s", payload, ["pin"])
        == f"there is no 123 and 7 {secret}s"
    )


def card() -> str:
    return "-".join(["4111", "2222", "3333"])


@pytest.fixture
def handler() -> Any:
    yield registry.job_handler("pay-by-card")(lambda job, card: None)
    registry.unregister("pay-by-card")


WAYS = {
    "enqueue": lambda handler: Job.objects.enqueue("pay-by-card", {"card": card()}),
    "with a key": lambda handler: Job.objects.enqueue("pay-by-card", {"card": card()}, idempotency_key="k"),
    "meta": lambda handler: Job.objects.enqueue("pay-by-card", meta={"card": card()}),
    "many": lambda handler: Job.objects.enqueue_many([{"type": "pay-by-card", "payload": {"card": card()}}]),
    "handler": lambda handler: handler.enqueue(card=card()),
    "using": lambda handler: handler.using(priority=1).enqueue(card=card()),
    "task": lambda handler: tasks.noop.enqueue(card()),
    "tasks": lambda handler: enqueue_many(tasks.noop, [[card()]]),
    "message": lambda handler: enqueue_message({"card": card()}, routing_key="r"),
    "web hook": lambda handler: enqueue_webhook("https://bank.test/", {"card": card()}, secret=None),
}


@pytest.mark.django_db
@pytest.mark.parametrize("way", WAYS)
def test_the_report_of_a_failing_enqueue_shows_no_payload(way: str, handler: Any, monkeypatch, settings):
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("out of order")

    settings.DEBUG = False
    monkeypatch.setattr(Vendor, "_insert_sql", fail)
    with pytest.raises(RuntimeError, match="out of order") as raised:
        WAYS[way](handler)
    reporter = ExceptionReporter(None, raised.type, raised.value, raised.tb)
    frames = [frame for frame in reporter.get_traceback_frames() if "django_jobqueue" in frame["filename"]]
    assert len(frames) > 3
    assert card() not in repr([frame["vars"] for frame in frames])

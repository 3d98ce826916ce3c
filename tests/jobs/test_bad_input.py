"""What no database is asked to store, and what the refusal names."""

from __future__ import annotations

import decimal
import enum
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from django_jobqueue.exceptions import InvalidJob


def nested(levels: int) -> dict:
    value: dict = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def nested_lists(levels: int) -> dict:
    value: list = []
    for _ in range(levels - 2):
        value = [value]
    return {"a": value}


itself: dict = {}
itself["a"] = itself

PAYLOADS = [
    ([1], "payload: must be an object (a dict), not list"),
    ("text", "payload: must be an object (a dict), not str"),
    (5, "payload: must be an object (a dict), not int"),
    ({"a": float("nan")}, "payload.a: nan is not JSON"),
    ({"a": float("inf")}, "payload.a: inf is not JSON"),
    ({"a": [1, {"b": float("-inf")}]}, "payload.a[1].b: -inf is not JSON"),
    ({"a": "x\0y"}, "payload.a: must not contain the NUL character"),
    ({"a\0": 1}, "payload: must not contain the NUL character"),
    ({"a": "\ud800"}, "payload.a: must not contain lone surrogates"),
    ({"\udfff": 1}, "payload: must not contain lone surrogates"),
    ({1: "a"}, "payload: has a key that is int; keys must be texts"),
    ({None: "a"}, "payload: has a key that is null; keys must be texts"),
    ({"a": {True: 1}}, "payload.a: has a key that is bool; keys must be texts"),
    ({"a": 2**63}, "payload.a: is an integer past 64 bits"),
    ({"a": -(2**63) - 1}, "payload.a: is an integer past 64 bits"),
    ({"a": 10**400}, "payload.a: is an integer past 64 bits"),
    ({"a": {1, 2}}, "payload.a: set is not JSON"),
    ({"a": b"x"}, "payload.a: bytes is not JSON"),
    ({"a": date(2026, 5, 1)}, "payload.a: date is not JSON"),
    ({"a": datetime(2026, 5, 1)}, "payload.a: datetime is not JSON"),
    ({"a": decimal.Decimal("1.5")}, "payload.a: Decimal is not JSON"),
    ({"a": 1j}, "payload.a: complex is not JSON"),
    ({"a": object()}, "payload.a: object is not JSON"),
    (nested(33), "is nested deeper than 32 levels"),
    (nested_lists(33), "is nested deeper than 32 levels"),
    (itself, "is nested deeper than 32 levels"),
    ({"a": "x" * 65_529}, "payload: has 65537 bytes; at most 65536 are allowed"),
    ({"a": "é" * 32_765}, "payload: has 65538 bytes; at most 65536 are allowed"),
]


@pytest.mark.parametrize(("payload", "message"), PAYLOADS)
def test_a_payload_that_cannot_be_kept_is_refused(jobs, payload, message):
    with pytest.raises(InvalidJob) as refused:
        jobs.enqueue("test.noop", payload)
    assert message in str(refused.value)
    assert refused.value.field.startswith("payload")
    assert jobs.count() == 0


@pytest.mark.parametrize(
    "payload",
    [
        nested(32),
        nested_lists(32),
        {"a": "x" * 65_528},
        {"a": "é" * 32_764},
        {"a": 2**63 - 1, "b": -(2**63)},
        {"a": "\x01\x7f\u0085\ufeff\uffff\U0010ffff", "": ""},
    ],
)
def test_a_payload_at_the_limit_is_kept(jobs, payload):
    job = jobs.enqueue("test.noop", payload)
    assert jobs.get(pk=job.pk).payload == payload


def test_what_json_can_say_of_a_python_value_is_kept(jobs):
    class Colour(enum.StrEnum):
        RED = "red"

    class Level(enum.IntEnum):
        HIGH = 20

    job = jobs.enqueue("test.noop", {Colour.RED: (Colour.RED, Level.HIGH, True)})
    assert jobs.get(pk=job.pk).payload == {"red": ["red", 20, True]}


FIELDS = [
    ("type", "", "type: must not be blank"),
    ("type", "   ", "type: must not be blank"),
    ("type", None, "type: must be a text, not null"),
    ("type", 5, "type: must be a text, not int"),
    ("type", "x" * 201, "type: has 201 characters; at most 200"),
    ("type", "a\0b", "type: must not contain the NUL character"),
    ("type", "\ud800", "type: must not contain lone surrogates"),
    ("queue", "", "queue: must not be blank"),
    ("queue", "x" * 65, "queue: has 65 characters; at most 64"),
    ("queue", 5, "queue: must be a text, not int"),
    ("queue", "a\0", "queue: must not contain the NUL character"),
    ("idempotency_key", "\udc80", "idempotency_key: must not contain lone surrogates"),
    ("idempotency_key", "a\0b", "idempotency_key: must not contain the NUL character"),
    ("priority", "urgent", "priority: 'urgent' is not one of low, medium, high, critical"),
    ("priority", "HIGH", "priority: 'HIGH' is not one of"),
    ("priority", 101, "priority: must be from -100 to 100"),
    ("priority", -101, "priority: must be from -100 to 100"),
    ("priority", 2**70, "priority: must be from -100 to 100"),
    ("priority", 1.5, "priority: float is neither a label nor an integer"),
    ("priority", True, "priority: bool is neither a label nor an integer"),
    ("max_retries", -1, "max_retries: must be from 0 to 1000"),
    ("max_retries", 1001, "max_retries: must be from 0 to 1000"),
    ("max_retries", 1.0, "max_retries: must be an integer, not float"),
    ("max_retries", True, "max_retries: must be an integer, not bool"),
    ("max_retries", "3", "max_retries: must be an integer, not str"),
    ("run_at", "2026-05-01", "run_at: must be a datetime, not str"),
    ("run_at", date(2026, 5, 1), "run_at: must be a datetime, not date"),
    ("run_at", 5, "run_at: must be a datetime, not int"),
    ("run_at", datetime(1969, 12, 31, 23, 59, tzinfo=UTC), "run_at: must be from the year 1970 to the year 2199"),
    ("run_at", datetime(2200, 1, 1, tzinfo=UTC), "run_at: must be from the year 1970 to the year 2199"),
    ("run_at", datetime(1, 1, 1), "run_at: "),
    ("run_at", datetime.max, "run_at: "),
    ("run_at", datetime.min.replace(tzinfo=timezone(timedelta(hours=14))), "run_at: is not a date that can"),
    ("run_at", timedelta(seconds=-1), "run_at: must be from 0 to"),
    ("run_at", timedelta.max, "run_at: must be from 0 to"),
    ("meta", [1], "meta: must be an object"),
    ("meta", {"_trace": 1}, "meta: '_trace': names that start with _ are reserved"),
    ("meta", {"_backoff": {}}, "meta: '_backoff': names that start with _ are reserved"),
    ("meta", {"a": float("nan")}, "meta.a: nan is not JSON"),
    ("meta", {"a": "x" * 8192}, "meta: has 8200 bytes; at most 8192"),
    ("backoff", "no.such.module", "backoff: No module named 'no'"),
    ("backoff", "nothing", "backoff: nothing doesn't look like a module path"),
    ("backoff", 5, "backoff: a job can store exponential"),
    ("backoff", lambda retry: 5.0, "backoff: a job can store exponential"),
    ("enqueued_by", "x" * 201, "enqueued_by: has 201 characters; at most 200"),
    ("enqueued_by", "a\0", "enqueued_by: must not contain the NUL character"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "message"), FIELDS)
def test_a_bad_argument_is_named(jobs, field, value, message):
    with pytest.raises(InvalidJob) as refused:
        jobs.enqueue(**{"type": "test.noop", field: value})
    assert message in str(refused.value)
    assert jobs.count() == 0


@pytest.mark.parametrize("error", [ValueError, InvalidJob])
def test_a_refusal_is_a_value_error(jobs, error):
    with pytest.raises(error):
        jobs.enqueue("test.noop", priority="urgent")


def test_a_refusal_does_not_repeat_a_long_value(jobs):
    with pytest.raises(InvalidJob) as refused:
        jobs.enqueue("test.noop", priority="u" * 10_000)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(("field", "length"), [("type", 200), ("queue", 64), ("idempotency_key", 255)])
def test_a_text_of_the_full_length_is_kept_whole(jobs, field, length):
    text = "😀" * length
    job = jobs.enqueue(**{"type": "test.noop", field: text})
    assert getattr(jobs.get(pk=job.pk), field) == text


CLAIMS = [
    ("worker_id", "", "worker_id: must not be blank"),
    ("worker_id", "x" * 201, "worker_id: has 201 characters; at most 200"),
    ("worker_id", "a\0", "worker_id: must not contain the NUL character"),
    ("worker_id", None, "worker_id: must be a text, not null"),
    ("claimed_by", "x" * 201, "claimed_by: has 201 characters; at most 200"),
    ("lease_seconds", 0, "lease_seconds: must be from 0.001 to 604800"),
    ("lease_seconds", -5, "lease_seconds: must be from 0.001 to 604800"),
    ("lease_seconds", float("nan"), "lease_seconds: must be a number of seconds"),
    ("lease_seconds", float("inf"), "lease_seconds: must be from 0.001 to 604800"),
    ("lease_seconds", 604_801, "lease_seconds: must be from 0.001 to 604800"),
    ("lease_seconds", "60", "lease_seconds: must be a number of seconds"),
    ("lease_seconds", True, "lease_seconds: must be a number of seconds"),
    ("queues", [""], "queues: must not be blank"),
    ("queues", ["a\0"], "queues: must not contain the NUL character"),
    ("queues", ["x" * 65], "queues: has 65 characters; at most 64"),
    ("types", ["\ud800"], "types: must not contain lone surrogates"),
    ("types", [5], "types: must be a text, not int"),
]


@pytest.mark.parametrize(("field", "value", "message"), CLAIMS)
def test_a_bad_argument_of_a_claim_is_named(jobs, field, value, message):
    job = jobs.enqueue("test.noop")
    with pytest.raises(InvalidJob) as refused:
        jobs.claim(**{"worker_id": "worker-1", field: value})
    assert message in str(refused.value)
    assert jobs.get(pk=job.pk).status == "pending"


@pytest.mark.parametrize("limit", [0, -1, 1001, 1.5, True, None])
def test_a_bad_limit_of_a_claim_is_named(jobs, limit):
    with pytest.raises(InvalidJob, match="limit: must be"):
        jobs.claim_many(worker_id="worker-1", limit=limit)


VERBS = [
    ("heartbeat", {"lease_seconds": 0}, "lease_seconds: must be from"),
    ("heartbeat", {"progress": {"a": float("nan")}}, "progress.a: nan is not JSON"),
    ("heartbeat", {"progress": "x" * 65_535}, "progress: has 65537 bytes"),
    ("complete", {"result": {"a": {1}}}, "result.a: set is not JSON"),
    ("complete", {"result": "x" * 65_535}, "result: has 65537 bytes"),
    ("complete", {"result": ["\0"]}, "result[0]: must not contain the NUL character"),
    ("fail", {"error": "boom", "retry_in": -1}, "retry_in: must be from 0 to"),
    ("fail", {"error": "boom", "retry_in": float("nan")}, "retry_in: must be a number of seconds"),
    ("fail", {"error": "boom", "retry_in": 1e12}, "retry_in: must be from 0 to"),
    ("release", {"delay": -1}, "delay: must be from 0 to"),
    ("release", {"delay": float("inf")}, "delay: must be from 0 to"),
]


@pytest.mark.parametrize(("verb", "options", "message"), VERBS)
def test_a_bad_argument_of_an_acknowledgement_is_named(job_in, jobs, verb, options, message):
    job = job_in("running")
    with pytest.raises(InvalidJob) as refused:
        getattr(jobs, verb)(job.pk, fencing_token=1, **options)
    assert message in str(refused.value)
    assert jobs.get(pk=job.pk).status == "running"


BULK = [
    ("promote", {"limit": 0}, "limit: must be from 1 to 10000"),
    ("reap", {"older_than": -1}, "older_than: must be from 0 to"),
    ("list_stale", {"older_than": float("nan")}, "older_than: must be a number of seconds"),
    ("prune", {"older_than": -1}, "older_than: must be from 0 to"),
    ("prune", {"older_than": 0, "batch_size": 0}, "batch_size: must be from 1 to 10000"),
    ("prune", {"older_than": 0, "statuses": ["running"]}, "statuses: 'running' is no end state"),
    ("count_prunable", {"older_than": 0, "statuses": ["pendin"]}, "statuses: 'pendin' is no end state"),
    ("renew_many", {"claims": [(1, 1)], "lease_seconds": 0}, "lease_seconds: must be from"),
]


@pytest.mark.parametrize(("verb", "options", "message"), BULK)
def test_a_bad_argument_of_upkeep_is_named(jobs, verb, options, message):
    with pytest.raises(InvalidJob) as refused:
        getattr(jobs, verb)(**options)
    assert message in str(refused.value)

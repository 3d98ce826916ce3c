"""What is refused: cheaper than the request was to send, and never as a defect of the server."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.db import close_old_connections, connection
from hypothesis import given
from hypothesis import strategies as st

from tests.api.conftest import TYPE, Caller

FIELDS: dict[str, tuple[str, ...]] = {
    "/jobs": ("type", "payload", "queue", "priority", "max_retries", "idempotency_key", "run_at", "meta"),
    "/jobs/claim": ("worker_id", "queues", "types", "lease_seconds", "request_id", "wait_seconds"),
    "/jobs/claim-batch": ("worker_id", "queues", "types", "lease_seconds", "request_id", "limit"),
    "/jobs/{id}/heartbeat": ("fencing_token", "lease_seconds", "progress"),
    "/jobs/{id}/complete": ("fencing_token", "result"),
    "/jobs/{id}/fail": ("fencing_token", "error", "retryable", "retry_in"),
    "/jobs/{id}/release": ("fencing_token", "retry_in"),
    "/jobs/{id}/cancel": ("reason",),
    "/jobs/{id}/retry": ("reason",),
    "/jobs/complete-batch": ("id", "fencing_token", "result"),
}
NEEDED: dict[str, dict[str, Any]] = {
    "/jobs": {"type": TYPE},
    "/jobs/claim": {"worker_id": "w"},
    "/jobs/claim-batch": {"worker_id": "w", "limit": 1},
    "/jobs/{id}/fail": {"error": "x"},
    "/jobs/complete-batch": {"id": 1, "fencing_token": 1},
}
VALUES = [
    "9" * 400,
    "-" + "9" * 400,
    "9" * 5000,
    "9223372036854775808",
    "1e308",
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "-0.0",
    "1.5",
    "null",
    "true",
    "[]",
    "{}",
    "[[1]]",
    '[{"a": 1}]',
    '["\\u0000"]',
    '["\\ud800"]',
    '""',
    '"%"',
    '"\\u0000"',
    '"\\ud800"',
    '"\\ufffe\\u202e"',
    '"' + "x" * 10_000 + '"',
    '"٣"',
    '"0001-01-01T00:00:00+23:59"',
    '"9999-12-31T23:59:59-23:59"',
    '"2026-01-01T00:00:00+99:99"',
    "[" * 10_000 + "]" * 10_000,
    '{"a":' * 10_000 + "1" + "}" * 10_000,
    "[" * 200 + "]" * 200,
    '{"a": {"a": {"\\u0000": 1}}}',
    '{"\\ud800": 1}',
    '{"a": 1, "a": 2}',
    '{"' + "k" * 10_000 + '": 1e400}',
]


@pytest.fixture
def anyone(caller) -> Caller:
    client: Caller = caller("anyone", "enqueue_job", "work_job", "view_job", "manage_job")
    client.raise_request_exception = False
    return client


def send(
    client: Caller, path: str, text: str | bytes, content_type: str = "application/json", **extra: Any
) -> Any:
    body = text.encode() if isinstance(text, str) else text
    return client.generic("POST", path, body, content_type=content_type, **extra)


@pytest.mark.parametrize("path", FIELDS)
def test_no_value_of_any_field_is_a_defect(anyone, path):
    job_id = anyone.post("/jobs", {"type": TYPE}).json()["id"]
    found = {}
    for name in FIELDS[path]:
        needed = {key: value for key, value in NEEDED.get(path, {}).items() if key != name}
        for value in VALUES:
            text = json.dumps(needed)[:-1] + (", " if needed else "") + f'"{name}": {value}}}'
            if path == "/jobs/complete-batch":
                text = f"[{text}]"
            response = send(anyone, path.format(id=job_id), text)
            if response.status_code >= 500:
                found[name, value[:30]] = response.status_code
    assert not found


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)

PARAMETERS = (
    "status", "type", "queue", "priority", "worker_id", "idempotency_key",
    "created_after", "created_before", "cursor", "page_size", "format", "unheard",
)  # fmt: skip
QUERY_VALUES = [
    "%25", "%25s", "%00", "%ff", "%ed%a0%80", "%", "", "+", "1e999", "NaN", "null", "-1", "9" * 400, "9" * 5000,
    "x" * 5000, "%25(a)s", "{0}", "%7B%7D", "0001-01-01T00:00:00%2B23:59", "9999-12-31T23:59:59-23:59",
    "cD0l", "cD0lMjU=", "cD0" + "5" * 500, "%D9%A3", "a%0d%0ab", "\\ud800",
]  # fmt: skip


@pytest.mark.parametrize("name", PARAMETERS)
def test_no_value_of_any_parameter_is_a_defect(anyone, name):
    found = {}
    for value in QUERY_VALUES:
        response = anyone.get(f"/jobs?{name}={value}")
        if response.status_code >= 500:
            found[value[:30]] = response.status_code
    assert not found


@pytest.mark.parametrize("path", FIELDS)
@pytest.mark.parametrize(
    ("text", "content_type"),
    [
        (b"\xff\xfe{\x00}\x00", "application/json; charset=utf-16"),
        (b"{}", "application/json; charset=nonsense"),
        (b"\xef\xbb\xbf{}", "application/json"),
        (b"a=1", "application/x-www-form-urlencoded"),
        (b"--x\r\n", "multipart/form-data; boundary=x"),
        (b"{}", "multipart/form-data"),
        (b"{}", ""),
        (b"{}", "/"),
        (b"", "application/json"),
    ],
)
def test_no_form_of_a_body_is_a_defect(anyone, path, text, content_type):
    assert send(anyone, path.format(id=1), text, content_type).status_code < 500


@pytest.mark.parametrize("path", ["/jobs", "/jobs/claim", "/jobs/1/cancel", "/jobs/complete-batch"])
def test_many_unknown_names_are_refused_in_a_short_answer_soon(anyone, settings, path):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    text = json.dumps({f"name-{number}": 1 for number in range(200_000)})
    if path == "/jobs/complete-batch":
        text = f"[{text}]"
    begun = time.process_time()
    response = send(anyone, path, text)
    assert response.status_code == 400
    assert "name-0" in response.content.decode()
    assert len(response.content) < 10_000
    assert time.process_time() - begun < 2  # 7 s when each name is looked up for its likes


def test_many_items_at_fault_are_refused_in_a_short_answer(anyone, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    items = [{"id": "x", "unheard": 1} for _ in range(settings.JOBQUEUE.get("API_MAX_COMPLETIONS", 100))]
    response = anyone.post("/jobs/complete-batch", items)
    assert response.status_code == 400
    assert len(response.content) < len(json.dumps(items)) + 10_000


def test_many_unknown_parameters_are_refused_in_a_short_answer(anyone, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = None
    query = "&".join(f"name-{number}=1" for number in range(5_000))
    response = anyone.get(f"/jobs?{query}")
    assert response.status_code == 400
    assert len(response.content) < 10_000


@pytest.mark.parametrize("more", [{}, {"infinite": float("inf")}, {"last": object()}, {"last": "\0"}])
def test_a_payload_past_its_limit_is_not_walked(monkeypatch, more):
    from django_jobqueue.exceptions import InvalidJob
    from django_jobqueue.jobs import limits

    walked = []
    plain = limits._Walk.plain
    monkeypatch.setattr(limits._Walk, "plain", lambda *args: walked.append(1) or plain(*args))
    large = {"deep": {"list": [[number] for number in range(100_000)]}, **more}
    with pytest.raises(InvalidJob, match=r"^payload: has .* bytes; at most 1000 are allowed"):
        limits.dump_json("payload", large, 1000)
    assert len(walked) < 1_000


@given(JSON)
def test_what_fits_to_the_byte_is_taken_and_no_byte_more(value):
    from django_jobqueue.exceptions import InvalidJob
    from django_jobqueue.jobs import limits

    text = limits.dump_json("payload", value, 10**9)
    assert json.loads(text) == value
    assert limits.dump_json("payload", value, len(text.encode())) == text
    with pytest.raises(InvalidJob):
        limits.dump_json("payload", value, len(text.encode()) - 1)


READ_ONLY = {
    "postgresql": "SET default_transaction_read_only = on",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "sqlite": "PRAGMA query_only = on",
}


@pytest.fixture
def read_only(transactional_db):
    """The database as a server that was demoted is: it answers, and takes no writes."""

    def demote():
        with connection.cursor() as cursor:
            cursor.execute(READ_ONLY[connection.vendor])

    yield demote
    if connection.vendor == "sqlite":  # in memory, where closing is none
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = off")
    connection.close()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/jobs", {"type": TYPE}),
        ("/jobs/claim", {"worker_id": "w"}),
        ("/jobs/claim", {"worker_id": "w", "request_id": "r"}),
        ("/jobs/claim-batch", {"worker_id": "w", "limit": 2}),
        ("/jobs/{id}/cancel", {}),
    ],
)
def test_a_server_that_takes_no_writes_is_away_and_its_connection_dropped(read_only, anyone, path, body):
    job_id = anyone.post("/jobs", {"type": TYPE}).json()["id"]
    read_only()
    held = connection.connection
    response = anyone.post(path.format(id=job_id), body)
    assert (response.status_code, response["Content-Type"]) == (503, "application/json")
    assert response["Retry-After"] == "5"
    close_old_connections()  # as at the end of each request
    if connection.vendor != "sqlite":
        assert connection.connection is not held
        assert anyone.post(path.format(id=job_id), body).status_code in (200, 201)

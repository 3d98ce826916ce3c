from __future__ import annotations

import pytest
from django.db import connection

from django_jobqueue.models import Job
from tests.api.conftest import TYPE


def test_a_new_job_answers_201_with_its_location(producer):
    response = producer.post("/jobs", {"type": TYPE, "payload": {"video": 7}})
    job = Job.objects.get()
    assert response.status_code == 201
    assert response["Location"] == f"http://testserver/jobs/{job.pk}"
    assert response.json()["id"] == job.pk
    assert response.json()["payload"] == job.payload == {"video": 7}


def test_the_caller_is_kept_as_the_one_who_enqueued(producer):
    producer.post("/jobs", {"type": TYPE})
    assert Job.objects.get().enqueued_by == "producer"


def test_everything_that_can_be_chosen_is_stored(producer):
    response = producer.post(
        "/jobs",
        {
            "type": TYPE,
            "queue": "video",
            "priority": "medium",
            "max_retries": 0,
            "idempotency_key": "video-7",
            "run_at": "2199-01-01T12:00:00+02:00",
            "meta": {"tags": ["a"]},
        },
    )
    job = Job.objects.get()
    shown = response.json()
    assert (job.queue, job.priority, job.max_retries) == ("video", 10, 0)
    assert (job.idempotency_key, job.meta) == ("video-7", {"tags": ["a"]})
    assert (shown["status"], shown["run_at"]) == ("scheduled", "2199-01-01T10:00:00.000000Z")
    assert (shown["priority"], shown["priority_value"]) == ("medium", 10)


def test_a_priority_may_be_an_integer_and_is_shown_with_the_label_below_it(producer):
    shown = producer.post("/jobs", {"type": TYPE, "priority": 15}).json()
    assert (shown["priority"], shown["priority_value"]) == ("medium", 15)


def test_a_whole_number_may_be_written_with_a_fraction_of_nothing(producer):
    shown = producer.post("/jobs", {"type": TYPE, "priority": 15.0, "max_retries": 5.0}).json()
    assert (shown["priority_value"], shown["max_retries"]) == (15, 5)


def test_a_naive_run_at_is_read_in_the_time_zone_of_the_project(producer, settings):
    settings.TIME_ZONE = "Asia/Tokyo"
    shown = producer.post("/jobs", {"type": TYPE, "run_at": "2199-01-01T09:00:00"}).json()
    assert shown["run_at"] == "2199-01-01T00:00:00.000000Z"


def test_null_means_left_out(producer):
    body = {"type": TYPE, "payload": None, "queue": None, "priority": None, "idempotency_key": None}
    assert producer.post("/jobs", body).status_code == 201
    assert producer.post("/jobs", body).status_code == 201


def test_a_key_that_a_job_has_already_answers_200_with_that_job(producer):
    first = producer.post("/jobs", {"type": TYPE, "idempotency_key": "k"})
    second = producer.post("/jobs", {"type": TYPE, "idempotency_key": "k"})
    assert (second.status_code, second["Idempotent-Replayed"]) == (200, "true")
    assert second.json() == first.json()
    assert Job.objects.count() == 1
    assert "Idempotent-Replayed" not in first


def test_the_header_means_the_same_as_the_field(producer):
    first = producer.post("/jobs", {"type": TYPE}, headers={"Idempotency-Key": "k"})
    second = producer.post("/jobs", {"type": TYPE, "idempotency_key": "k"}, headers={"Idempotency-Key": "k"})
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["idempotency_key"] == "k"


def test_the_header_may_hold_any_utf8(producer):
    on_the_wire = "Straße-№7".encode().decode("latin-1")
    response = producer.post("/jobs", {"type": TYPE}, headers={"Idempotency-Key": on_the_wire})
    assert response.json()["idempotency_key"] == "Straße-№7"


@pytest.mark.parametrize("header", ["other", "", "  ", b"caf\xe9".decode("latin-1"), "x" * 256])
def test_a_bad_or_contradicting_header_is_refused(producer, header):
    body = {"type": TYPE, "idempotency_key": "k"} if header == "other" else {"type": TYPE}
    response = producer.post("/jobs", body, headers={"Idempotency-Key": header})
    assert response.status_code == 400
    assert list(response.json()) == ["idempotency_key"]


def test_a_mismatch_answers_the_existing_job_with_a_warning_by_default(producer):
    producer.post("/jobs", {"type": TYPE, "idempotency_key": "k", "payload": {"a": 1}})
    response = producer.post("/jobs", {"type": TYPE, "idempotency_key": "k", "payload": {"a": 2}})
    assert (response.status_code, response["Idempotency-Mismatch"]) == (200, "payload")
    assert response.json()["payload"] == {"a": 1}


def test_a_mismatch_answers_422_where_the_project_rejects_it(producer, settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "IDEMPOTENCY_MISMATCH": "reject"}
    producer.post("/jobs", {"type": TYPE, "idempotency_key": "k", "payload": {"a": 1}})
    response = producer.post("/jobs", {"type": TYPE, "idempotency_key": "k", "payload": {"a": 2}})
    assert (response.status_code, response.json()["code"]) == (422, "idempotency_mismatch")


@pytest.mark.parametrize("mismatch", ["return", "reject"])
@pytest.mark.parametrize("payload", [{}, {"a": 1}])
def test_a_key_of_another_callers_job_answers_409_without_that_job(
    caller, producer, settings, mismatch, payload
):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "IDEMPOTENCY_MISMATCH": mismatch}
    producer.post("/jobs", {"type": TYPE, "idempotency_key": "k"})
    body = {"type": TYPE, "idempotency_key": "k", "payload": payload}
    response = caller("other", "enqueue_job").post("/jobs", body)
    assert response.status_code == 409
    assert response.json() == {
        "detail": "idempotency_key: another caller's job has this key. Use another key.",
        "code": "key_taken",
    }
    assert "Idempotency-Mismatch" not in response


def test_a_key_of_another_callers_job_is_replayed_to_those_who_may_see_all_of_it(caller, producer):
    producer.post("/jobs", {"type": TYPE, "idempotency_key": "k", "payload": {"secret": 1}})
    seer = caller("seer", "enqueue_job", "view_job", "view_job_payload")
    response = seer.post("/jobs", {"type": TYPE, "idempotency_key": "k", "payload": {"secret": 1}})
    assert response.status_code == 200
    assert (response.json()["payload"], response.json()["redacted"]) == ({"secret": 1}, False)


@pytest.mark.parametrize("mismatch", ["return", "reject"])
@pytest.mark.parametrize("codenames", [(), ("view_job",), ("view_job_payload",), ("work_job",)])
def test_a_replayed_key_tells_nothing_of_a_payload_that_the_caller_may_not_see(
    caller, producer, settings, mismatch, codenames
):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "IDEMPOTENCY_MISMATCH": mismatch}
    producer.post("/jobs", {"type": TYPE, "idempotency_key": "k", "payload": {"secret": 1}})
    prober = caller("prober", "enqueue_job", *codenames)
    answers = [
        prober.post("/jobs", {"type": TYPE, "idempotency_key": "k", "payload": {"secret": secret}})
        for secret in (1, 2)
    ]
    assert [answer.status_code for answer in answers] == [409, 409]
    assert answers[0].content == answers[1].content
    assert {*answers[0].headers.items()} == {*answers[1].headers.items()}


def test_a_type_that_nobody_registered_is_refused_with_what_may_have_been_meant(producer):
    response = producer.post("/jobs", {"type": "resize-vido"})
    assert response.status_code == 400
    assert "Did you mean 'resize-video'?" in response.json()["type"][0]


def test_a_registered_type_is_taken(producer):
    assert producer.post("/jobs", {"type": "test.noop"}).status_code == 201


def test_priority_from_high_on_needs_its_permission(caller):
    plain = caller("plain", "enqueue_job")
    urgent = caller("urgent", "enqueue_job", "prioritize_job")
    asked = [19, "high", 20, "critical", 100]
    assert [plain.post("/jobs", {"type": TYPE, "priority": p}).status_code for p in asked] == [201] + [
        403
    ] * 4
    assert [urgent.post("/jobs", {"type": TYPE, "priority": p}).status_code for p in asked] == [201] * 5


NESTED = {"a": {}}
for _ in range(40):
    NESTED = {"a": NESTED}

BAD = {
    "no type": ({}, "type"),
    "null type": ({"type": None}, "type"),
    "numeric type": ({"type": 5}, "type"),
    "blank type": ({"type": " "}, "type"),
    "type with NUL": ({"type": "a\0"}, "type"),
    "type with a lone surrogate": ({"type": "\ud800"}, "type"),
    "long type": ({"type": "x" * 201}, "type"),
    "list payload": ({"payload": [1]}, "payload"),
    "text payload": ({"payload": "{}"}, "payload"),
    "NUL in payload": ({"payload": {"a": {"b": ["\0"]}}}, "payload"),
    "NUL in a payload's key": ({"payload": {"\0": 1}}, "payload"),
    "lone surrogate in payload": ({"payload": {"a": "\udfff"}}, "payload"),
    "payload past 64 KiB": ({"payload": {"a": "x" * 65536}}, "payload"),
    "payload nested deeper than 32": ({"payload": NESTED}, "payload"),
    "huge integer in payload": ({"payload": {"a": 2**63}}, "payload"),
    "blank queue": ({"queue": ""}, "queue"),
    "long queue": ({"queue": "q" * 65}, "queue"),
    "queue with a lone surrogate": ({"queue": "\udc00"}, "queue"),
    "unknown priority": ({"priority": "urgent"}, "priority"),
    "priority as a digit text": ({"priority": "10"}, "priority"),
    "boolean priority": ({"priority": True}, "priority"),
    "priority with a fraction": ({"priority": 1.5}, "priority"),
    "priority too high": ({"priority": 101}, "priority"),
    "priority too low": ({"priority": -101}, "priority"),
    "list priority": ({"priority": ["low"]}, "priority"),
    "negative retries": ({"max_retries": -1}, "max_retries"),
    "huge retries": ({"max_retries": 10**30}, "max_retries"),
    "retries as a text": ({"max_retries": "3"}, "max_retries"),
    "boolean retries": ({"max_retries": True}, "max_retries"),
    "empty key": ({"idempotency_key": ""}, "idempotency_key"),
    "blank key": ({"idempotency_key": " \t"}, "idempotency_key"),
    "long key": ({"idempotency_key": "k" * 256}, "idempotency_key"),
    "numeric key": ({"idempotency_key": 7}, "idempotency_key"),
    "key with NUL": ({"idempotency_key": "k\0"}, "idempotency_key"),
    "no date": ({"run_at": "tomorrow"}, "run_at"),
    "a date that is none": ({"run_at": "2026-02-30T00:00:00Z"}, "run_at"),
    "a number as date": ({"run_at": 1_800_000_000}, "run_at"),
    "too early": ({"run_at": "1969-12-31T23:59:59Z"}, "run_at"),
    "too late": ({"run_at": "2200-01-01T00:00:00Z"}, "run_at"),
    "year 1 with an offset": ({"run_at": "0001-01-01T00:00:00+14:00"}, "run_at"),
    "year 9999 with an offset": ({"run_at": "9999-12-31T23:59:59-14:00"}, "run_at"),
    "date with NUL": ({"run_at": "2026-05-01T00:00:00\0"}, "run_at"),
    "date with a lone surrogate": ({"run_at": "2026-05-01\ud80000:00:00"}, "run_at"),
    "list meta": ({"meta": []}, "meta"),
    "reserved meta": ({"meta": {"_backoff": {}}}, "meta"),
    "the mark of a task": ({"meta": {"_task": {"backend": "default"}}}, "meta"),
    "large meta": ({"meta": {"a": "x" * 8192}}, "meta"),
    "a field of the row": ({"status": "completed"}, "status"),
    "another owner": ({"enqueued_by": "root"}, "enqueued_by"),
    "unknown field": ({"retries": 3}, "retries"),
    "unknown field with a lone surrogate": ({"\ud800": 3}, "\\ud800"),
}


@pytest.mark.parametrize(("body", "field"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_naming_the_field_before_the_database_is_asked(producer, body, field):
    with connection.execute_wrapper(_refuse_jobs_table):
        response = producer.post("/jobs", {"type": TYPE, **body} if field != "type" else body)
    assert response.status_code == 400
    assert list(response.json()) == [field]


def _refuse_jobs_table(execute, sql, params, many, context):
    assert Job._meta.db_table not in sql
    return execute(sql, params, many, context)


def test_all_bad_fields_are_named_at_once(producer):
    response = producer.post("/jobs", {"type": "", "queue": 5, "priority": "x", "max_retries": -1})
    assert sorted(response.json()) == ["max_retries", "priority", "queue", "type"]


def test_what_is_deeper_in_a_field_is_named_with_its_path(producer):
    response = producer.post("/jobs", {"type": TYPE, "payload": {"a": [{"b": "\0"}]}})
    assert response.json() == {"payload": ["payload.a[0].b: must not contain the NUL character."]}


def test_a_misspelt_field_is_refused_with_what_was_meant(producer):
    response = producer.post("/jobs", {"type": TYPE, "prioriti": "low"})
    assert response.json() == {"prioriti": ["is unknown here. Did you mean priority?"]}


def test_equality_of_keys_is_character_by_character(producer):
    keys = ["a", "A", "a ", "ä", "á"]
    assert [producer.post("/jobs", {"type": TYPE, "idempotency_key": k}).status_code for k in keys] == [
        201
    ] * 5

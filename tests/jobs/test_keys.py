"""Idempotency keys: one key is one job, compared exactly."""

from __future__ import annotations

import logging

import pytest
from django.db import IntegrityError, transaction

from django_jobqueue.exceptions import IdempotencyMismatch, InvalidJob
from django_jobqueue.models import Job
from tests.support.rows import STATUSES, job_in, row_of

DIFFERENT = [
    ("invoice-42", "Invoice-42"),
    ("invoice-42", "invoice-42 "),
    ("invoice-42", " invoice-42"),
    ("invoice-42", "invoice-42\t"),
    ("café", "cafe"),
    ("caf\u00e9", "cafe\u0301"),
    ("straße", "strasse"),
    ("\ufb01ve", "five"),
    ("i", "ı"),
    ("Å", "\u212b"),
    ("😀", "😁"),
    ("a\u200bb", "ab"),
    ("1", "１"),
    ("x" * 255, "x" * 254),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_keys_that_differ_in_anything_are_two_jobs(jobs, one, other):
    first = jobs.enqueue("test.noop", idempotency_key=one)
    second = jobs.enqueue("test.noop", idempotency_key=other)
    assert (second.replayed, second.pk == first.pk) == (False, False)
    assert jobs.get(idempotency_key=one).pk == first.pk


@pytest.mark.parametrize("key", sorted({key for pair in DIFFERENT for key in pair}))
def test_an_equal_key_is_the_same_job(jobs, key):
    first = jobs.enqueue("test.noop", idempotency_key=key)
    again = jobs.enqueue("test.noop", idempotency_key=key)
    assert (first.replayed, again.replayed, again.pk) == (False, True, first.pk)
    assert jobs.get(pk=first.pk).idempotency_key == key


@pytest.mark.parametrize("status", STATUSES)
def test_a_key_stays_taken_in_every_status(jobs, status):
    job = job_in(status, idempotency_key="invoice-42")
    before = row_of(job.pk)
    again = jobs.enqueue("test.noop", idempotency_key="invoice-42")
    assert (again.pk, again.status, again.replayed) == (job.pk, status, True)
    assert row_of(job.pk) == before


def test_a_key_is_free_again_after_its_job_was_pruned(jobs):
    old = job_in("completed", idempotency_key="invoice-42")
    jobs.prune(older_than=0)
    assert jobs.enqueue("test.noop", idempotency_key="invoice-42").pk != old.pk


def test_no_key_is_always_a_new_job(jobs):
    assert jobs.enqueue("test.noop").pk != jobs.enqueue("test.noop").pk


@pytest.mark.parametrize("key", ["", " ", "\t\n", "\u3000"])
def test_a_blank_key_is_refused(jobs, key):
    with pytest.raises(InvalidJob, match="idempotency_key: must not be blank"):
        jobs.enqueue("test.noop", idempotency_key=key)


@pytest.mark.parametrize("key", [42, b"invoice-42", ["invoice-42"], True])
def test_a_key_is_a_text(jobs, key):
    with pytest.raises(InvalidJob, match="idempotency_key: must be a text"):
        jobs.enqueue("test.noop", idempotency_key=key)


def test_a_key_is_never_cut(jobs):
    with pytest.raises(InvalidJob, match="idempotency_key: has 256 characters; at most 255"):
        jobs.enqueue("test.noop", idempotency_key="x" * 256)


def test_another_payload_gets_the_job_that_is_there_and_a_warning(jobs, caplog):
    job = jobs.enqueue("test.noop", {"amount": 1}, idempotency_key="invoice-42")
    with caplog.at_level(logging.WARNING, "django_jobqueue"):
        again = jobs.enqueue("test.noop", {"amount": 2}, idempotency_key="invoice-42")
    assert (again.pk, again.payload, again.mismatch) == (job.pk, {"amount": 1}, "payload")
    assert [record.getMessage() for record in caplog.records] == [
        f"Enqueue by the key of job {job.pk}, which has a different payload"
    ]


def test_another_type_gets_the_job_that_is_there_and_says_so(jobs):
    jobs.enqueue("test.noop", idempotency_key="invoice-42")
    again = jobs.enqueue("test.echo", idempotency_key="invoice-42")
    assert (again.type, again.mismatch) == ("test.noop", "type")


@pytest.mark.parametrize(
    ("type", "payload", "different"),
    [("test.noop", {"amount": 2}, "payload"), ("test.echo", {"amount": 1}, "type")],
)
def test_a_mismatch_can_be_an_error(jobs, settings, type, payload, different):
    settings.JOBQUEUE = {"IDEMPOTENCY_MISMATCH": "reject"}
    job = jobs.enqueue("test.noop", {"amount": 1}, idempotency_key="invoice-42")
    before = row_of(job.pk)
    with pytest.raises(IdempotencyMismatch) as refused:
        jobs.enqueue(type, payload, idempotency_key="invoice-42")
    assert (refused.value.job_id, refused.value.different) == (job.pk, different)
    assert row_of(job.pk) == before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        (False, 0),
        (1, 1.0),
        (True, 1.0),
        ([True], [1]),
        ({"a": [{"b": 0}]}, {"a": [{"b": False}]}),
        (None, False),
        ("1", 1),
    ],
)
@pytest.mark.parametrize("many", [False, True])
def test_values_that_json_tells_apart_are_different_payloads(jobs, settings, one, other, many):
    settings.JOBQUEUE = {"IDEMPOTENCY_MISMATCH": "reject"}
    for first, second in ((one, other), (other, one)):
        key = f"{first!r}, {second!r}"
        jobs.enqueue("test.noop", {"v": first}, idempotency_key=key)
        assert jobs.enqueue("test.noop", {"v": first}, idempotency_key=key).mismatch == ""
        if many:
            (outcome,) = jobs.enqueue_many(
                [{"type": "test.noop", "payload": {"v": second}, "idempotency_key": key}]
            )
            assert outcome.error.different == "payload"
        else:
            with pytest.raises(IdempotencyMismatch):
                jobs.enqueue("test.noop", {"v": second}, idempotency_key=key)


@pytest.mark.parametrize("mode", ["return", "reject"])
def test_the_same_request_is_no_mismatch(jobs, settings, mode):
    settings.JOBQUEUE = {"IDEMPOTENCY_MISMATCH": mode}
    payload = {"b": [1, 2.5, None], "a": {"x": True}, "big": 1e300, "tiny": 1e-300}
    jobs.enqueue("test.noop", payload, idempotency_key="invoice-42")
    again = jobs.enqueue("test.noop", dict(reversed(payload.items())), idempotency_key="invoice-42")
    assert (again.replayed, again.mismatch) == (True, "")


def test_what_only_the_first_request_chose_is_no_mismatch(jobs):
    jobs.enqueue("test.noop", idempotency_key="invoice-42", priority="high", queue="mail")
    again = jobs.enqueue("test.noop", idempotency_key="invoice-42")
    assert (again.priority, again.queue, again.mismatch) == (20, "mail", "")


def test_a_taken_key_leaves_the_callers_transaction_usable(jobs):
    jobs.enqueue("test.noop", idempotency_key="invoice-42")
    with transaction.atomic():
        jobs.enqueue("test.noop", idempotency_key="invoice-42")
        jobs.enqueue("test.noop", idempotency_key="invoice-43")
    assert sorted(jobs.values_list("idempotency_key", flat=True)) == ["invoice-42", "invoice-43"]


def test_a_key_taken_between_the_check_and_the_insert_leaves_the_transaction_usable(jobs, monkeypatch):
    from django_jobqueue.jobs import enqueue as module

    find, looks = module._find, []

    def find_nothing_at_first(*args, **options):
        looks.append(args)
        return {} if len(looks) == 1 else find(*args, **options)

    winner = jobs.enqueue("test.noop", idempotency_key="invoice-42")
    monkeypatch.setattr(module, "_find", find_nothing_at_first)
    with transaction.atomic():
        outcomes = jobs.enqueue_many(
            [
                {"type": "test.noop", "idempotency_key": key}
                for key in ("invoice-41", "invoice-42", "invoice-43")
            ]
        )
    assert [outcome.outcome for outcome in outcomes] == ["created", "replayed", "created"]
    assert outcomes[1].job.pk == winner.pk


def test_the_database_itself_refuses_a_key_twice(jobs):
    first, second = (jobs.enqueue("test.noop", idempotency_key=key) for key in ("one", "two"))
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.filter(pk=second.pk).update(idempotency_key=first.idempotency_key)


def test_an_integrity_error_that_is_not_about_the_key_is_no_duplicate(jobs, monkeypatch):
    from django_jobqueue.jobs import new_job as module

    monkeypatch.setattr(module, "parse_priority", lambda value: 101)
    with pytest.raises(IntegrityError, match="jobqueue_job_priority_range"), transaction.atomic():
        jobs.enqueue("test.noop", idempotency_key="idempotency_key")
    assert jobs.count() == 0

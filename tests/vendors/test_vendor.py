"""What every database has: constraints, indexes, exact comparison, bounded repetition."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, IntegrityError, NotSupportedError, connection, transaction

from django_jobqueue.models import Job, JobAttempt
from django_jobqueue.vendors import Now, registry, retry_transient, vendor_for
from tests.support.rows import claimed, job_in

CONSTRAINTS = {
    "jobqueue_job_idempotency_key",
    "jobqueue_job_retries_within_limit",
    "jobqueue_job_running_is_claimed",
    "jobqueue_job_finished_has_time",
    "jobqueue_job_priority_range",
}
INDEXES = {
    "jobqueue_job_pending": ["queue", "priority", "id"],
    "jobqueue_job_scheduled": ["run_at"],
    "jobqueue_job_running": ["lease_expires_at"],
    "jobqueue_job_failed": ["id"],
}


@pytest.fixture
def constraints(db):
    with connection.cursor() as cursor:
        return connection.introspection.get_constraints(cursor, Job._meta.db_table)


def test_the_rules_are_named_constraints(constraints):
    assert constraints.keys() >= CONSTRAINTS


def test_the_indexes_are_partial_or_have_the_status_in_front(constraints):
    front = [] if connection.features.supports_partial_indexes else ["status"]
    found = {name: constraints[name]["columns"] for name in INDEXES}
    assert found == {name: front + columns for name, columns in INDEXES.items()}


def test_the_claim_index_has_the_highest_priority_first(constraints):
    assert constraints["jobqueue_job_pending"]["orders"][-2:] == ["DESC", "ASC"]


def test_there_is_no_other_index(constraints):
    expected = {*INDEXES, "jobqueue_job_idempotency_key"}
    others = {name for name, has in constraints.items() if has["index"] or has["unique"]} - expected
    assert all(constraints[name]["primary_key"] for name in others)


@pytest.mark.parametrize(
    "changes",
    [
        {"retry_count": 4},
        {"status": "running"},
        {"status": "running", "worker_id": "worker-1", "claimed_at": Now()},
        {"status": "running", "worker_id": "worker-1", "lease_expires_at": Now()},
        {"status": "running", "lease_expires_at": Now(), "claimed_at": Now()},
        {"status": "completed"},
        {"status": "failed"},
        {"status": "cancelled"},
        {"priority": 101},
        {"priority": -101},
        {"retry_count": -1},
    ],
)
def test_the_database_refuses_what_no_job_can_be(jobs, changes):
    job = job_in("pending")
    with pytest.raises(DatabaseError), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(**changes)


def test_an_attempt_is_recorded_once_a_claim(jobs):
    job = job_in("failed")
    attempt = JobAttempt.objects.get(job=job)
    attempt.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        attempt.save(force_insert=True)


def test_the_clock_is_the_databases_and_in_utc(jobs):
    from django.utils import timezone

    job = jobs.enqueue("test.noop")
    assert abs((timezone.now() - job.created_at).total_seconds()) < 5


def test_the_clock_can_be_set_ahead_and_back(jobs):
    job = job_in("pending")
    jobs.filter(pk=job.pk).update(run_at=Now(3600.25), created_at=Now(-1.5), updated_at=Now())
    after = jobs.get(pk=job.pk)
    assert (after.run_at - after.updated_at).total_seconds() == 3600.25
    assert (after.created_at - after.updated_at).total_seconds() == -1.5


def test_a_server_without_returning_inserts_alike(jobs, monkeypatch):
    monkeypatch.setattr(connection.features, "can_return_columns_from_insert", False, raising=False)
    old = jobs.enqueue("test.noop", idempotency_key="old")
    outcomes = jobs.enqueue_many(
        [
            {"type": "test.noop", "payload": {"n": n}, "idempotency_key": key}
            for n, key in enumerate(["a", "old", "b"])
        ]
        + [{"type": "test.noop", "payload": {"n": 3}}]
    )
    assert [outcome.outcome for outcome in outcomes] == ["created", "replayed", "created", "created"]
    assert outcomes[1].job.pk == old.pk
    assert [jobs.get(pk=outcome.job.pk).payload.get("n") for outcome in outcomes] == [0, None, 2, 3]


class Asked:
    """An operation that fails a number of times."""

    def __init__(self, error, times):
        self.error, self.left, self.calls = error, times, 0

    def __call__(self):
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error
        return "done"


@pytest.fixture
def transient(monkeypatch):
    """An error that the database would ask to repeat."""
    error = DatabaseError("again")
    monkeypatch.setattr(type(vendor_for(connection)), "is_transient", lambda self, given: given is error)
    monkeypatch.setattr(registry.time, "sleep", lambda seconds: None)
    return error


@pytest.mark.django_db(transaction=True)
def test_what_a_database_asks_to_repeat_is_repeated(transient):
    operation = Asked(transient, 7)
    assert retry_transient(connection, operation) == "done"
    assert operation.calls == 8


@pytest.mark.django_db(transaction=True)
def test_it_is_not_repeated_for_ever(transient):
    operation = Asked(transient, 8)
    with pytest.raises(DatabaseError, match="again"):
        retry_transient(connection, operation)
    assert operation.calls == 8


@pytest.mark.django_db(transaction=True)
def test_another_error_is_not_repeated(transient):
    operation = Asked(DatabaseError("no such table"), 1)
    with pytest.raises(DatabaseError, match="no such table"):
        retry_transient(connection, operation)
    assert operation.calls == 1


@pytest.mark.django_db(transaction=True)
def test_inside_a_transaction_only_the_caller_can_repeat(transient):
    operation = Asked(transient, 1)
    with pytest.raises(DatabaseError, match="again"), transaction.atomic():
        retry_transient(connection, operation)
    assert operation.calls == 1


def test_a_constraint_is_nothing_to_repeat(jobs):
    job = claimed()
    with pytest.raises(DatabaseError) as refused, transaction.atomic():
        jobs.filter(pk=job.pk).update(retry_count=99)
    assert not vendor_for(connection).is_transient(refused.value)


def test_a_database_without_a_vendor_is_named(monkeypatch):
    monkeypatch.setattr(connection, "vendor", "oracle")
    with pytest.raises(NotSupportedError, match="does not support"):
        vendor_for(connection)

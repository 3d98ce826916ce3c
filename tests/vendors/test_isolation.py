"""The verbs at the isolation level above the recommended one, and inside a caller's own transaction."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from django_jobqueue.exceptions import ClaimLost
from django_jobqueue.models import Job, JobAttempt
from django_jobqueue.vendors import vendor_for
from tests.support.rows import claimed, expire, job_in

REPEATABLE_READ = {
    "postgresql": {"isolation_level": 3},  # psycopg.IsolationLevel.REPEATABLE_READ
    "mysql": {"isolation_level": "repeatable read"},
    "sqlite": {},  # knows no other than serializable
}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["as recommended", "repeatable read"], autouse=True)
def isolation(request: pytest.FixtureRequest, transactional_db: None) -> Iterator[None]:
    options = connection.settings_dict["OPTIONS"]
    if request.param == "repeatable read":
        connection.close()
        connection.settings_dict["OPTIONS"] = {**options, **REPEATABLE_READ[connection.vendor]}
    yield
    connection.close()
    connection.settings_dict["OPTIONS"] = options


@pytest.fixture
def elsewhere() -> Iterator[Any]:
    """Calls a function on another connection and returns a future of what it returns.

    Where writers wait for each other, the function ends only after the caller's transaction: the caller gives it
    half a second to end before.
    """
    with ThreadPoolExecutor(1) as pool:

        def call(function: Any) -> Any:
            def and_close() -> Any:
                try:
                    return function()
                finally:
                    connection.close()

            future = pool.submit(and_close)
            try:
                future.result(0.5)
            except TimeoutError:
                assert not connection.features.has_select_for_update
            return future

        yield call


def refused_for_repetition(error: OperationalError) -> bool:
    """Whether the database asks to repeat the whole transaction, which only the caller can."""
    return vendor_for(connection).is_transient(error)


def test_a_key_taken_behind_the_callers_snapshot_is_found(elsewhere):
    try:
        with transaction.atomic():
            assert Job.objects.count() == 0  # the snapshot
            other = elsewhere(lambda: Job.objects.enqueue("test.noop", idempotency_key="invoice-42"))
            mine = Job.objects.enqueue("test.noop", idempotency_key="invoice-42")
    except OperationalError as error:
        assert refused_for_repetition(error)
        mine = Job.objects.enqueue("test.noop", idempotency_key="invoice-42")
    assert mine.pk == other.result(30).pk
    assert Job.objects.count() == 1


def test_many_keys_taken_behind_the_callers_snapshot_are_found(elsewhere):
    new = [{"type": "test.noop", "idempotency_key": f"invoice-{number}"} for number in range(5)]
    try:
        with transaction.atomic():
            assert Job.objects.count() == 0
            other = elsewhere(lambda: Job.objects.enqueue_many(new[1:4]))
            mine = Job.objects.enqueue_many(new)
    except OperationalError as error:
        assert refused_for_repetition(error)
        mine = Job.objects.enqueue_many(new)
    assert [outcome.job.pk for outcome in mine[1:4]] == [outcome.job.pk for outcome in other.result(30)]
    assert Job.objects.count() == 5


def test_a_cancel_behind_the_callers_snapshot_is_not_lost(elsewhere):
    job = claimed()
    try:
        with transaction.atomic():
            assert Job.objects.get(pk=job.pk).status == "running"
            cancel = elsewhere(lambda: Job.objects.cancel(job.pk))
            Job.objects.fail(job.pk, error="boom", fencing_token=1)
    except OperationalError as error:
        assert refused_for_repetition(error)
        Job.objects.fail(job.pk, error="boom", fencing_token=1)
    cancel.result(30)
    assert Job.objects.get(pk=job.pk).status == "cancelled"


@pytest.mark.parametrize("verb", ["complete", "fail", "heartbeat", "release"])
def test_a_claim_reaped_behind_the_callers_snapshot_is_not_acknowledged(elsewhere, verb):
    job = claimed()
    expire(job.pk)
    options = {"error": "late"} if verb == "fail" else {}
    acknowledged = False
    try:
        with transaction.atomic():
            assert Job.objects.get(pk=job.pk).status == "running"
            reap = elsewhere(Job.objects.reap)
            getattr(Job.objects, verb)(job.pk, fencing_token=1, **options)
            acknowledged = True
    except ClaimLost:
        assert not acknowledged
    except OperationalError as error:
        assert refused_for_repetition(error)
        acknowledged = False
    assert acknowledged is (reap.result(30) == [])


def test_a_failure_outside_of_a_transaction_is_recorded():
    job = claimed()
    assert Job.objects.fail(job.pk, error="boom", fencing_token=1).status == "pending"
    assert JobAttempt.objects.count() == 1


def test_every_verb_works_inside_a_transaction():
    with transaction.atomic():
        done, failed, released = (job_in("running", queue=queue) for queue in "abc")
        Job.objects.heartbeat(done.pk, fencing_token=1)
        Job.objects.renew_many([(done.pk, 1)], lease_seconds=60)
        Job.objects.complete_many([(done.pk, 1, None)])
        Job.objects.fail(failed.pk, error="boom", fencing_token=1)
        Job.objects.release(released.pk, fencing_token=1, delay=60)
        Job.objects.run_now(released.pk)
        Job.objects.cancel(released.pk)
        Job.objects.retry(released.pk)
        assert {job.pk for job in Job.objects.claim_many(worker_id="worker-1", limit=5)} == {
            failed.pk,
            released.pk,
        }
        expire(failed.pk)
        assert [job.pk for job in Job.objects.reap()] == [failed.pk]
        assert Job.objects.promote() == 0
        assert Job.objects.prune(older_than=0) == 1
    assert dict(Job.objects.values_list("pk", "status")) == {failed.pk: "pending", released.pk: "running"}


def test_a_refusal_inside_a_transaction_leaves_it_usable():
    job = claimed()
    with transaction.atomic():
        for verb in ("complete", "heartbeat", "release"):
            with pytest.raises(ClaimLost):
                getattr(Job.objects, verb)(job.pk, fencing_token=7)
        with pytest.raises(ClaimLost):
            Job.objects.fail(job.pk, error="boom", fencing_token=7)
        Job.objects.complete(job.pk, fencing_token=1)
    assert Job.objects.get(pk=job.pk).status == "completed"

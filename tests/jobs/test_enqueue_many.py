"""Many jobs in few statements, by the rules of one."""

from __future__ import annotations

import pytest

from django_jobqueue.exceptions import IdempotencyMismatch, InvalidJob
from django_jobqueue.jobs.enqueue import NewJob


def test_all_are_added_in_their_order(jobs):
    outcomes = jobs.enqueue_many([NewJob(type="test.noop", payload={"n": n}) for n in range(50)])
    assert [outcome.outcome for outcome in outcomes] == ["created"] * 50
    assert [job.payload["n"] for job in jobs.order_by("id")] == list(range(50))
    assert [outcome.job.payload["n"] for outcome in outcomes] == list(range(50))


def test_items_may_be_dicts(jobs):
    [outcome] = jobs.enqueue_many([{"type": "test.noop", "payload": {"a": 1}, "priority": "high"}])
    assert (outcome.job.payload, outcome.job.priority) == ({"a": 1}, 20)


def test_nothing_is_nothing(jobs):
    assert jobs.enqueue_many([]) == []


def test_each_item_has_its_own_outcome(jobs):
    old = jobs.enqueue("test.noop", {"a": 1}, idempotency_key="old")
    outcomes = jobs.enqueue_many(
        [
            NewJob(type="test.noop", idempotency_key="new"),
            NewJob(type="test.noop", payload={"a": 1}, idempotency_key="old"),
            NewJob(type="test.noop"),
        ]
    )
    assert [outcome.outcome for outcome in outcomes] == ["created", "replayed", "created"]
    assert outcomes[1].job.pk == old.pk
    assert jobs.count() == 3


def test_a_key_that_occurs_twice_is_one_job(jobs):
    twice = [NewJob(type="test.noop", idempotency_key="once")] * 2
    first, second = jobs.enqueue_many(twice)
    assert (first.outcome, second.outcome) == ("created", "replayed")
    assert first.job.pk == second.job.pk


def test_a_mismatch_rejects_only_its_item(jobs, settings):
    settings.JOBQUEUE = {"IDEMPOTENCY_MISMATCH": "reject"}
    jobs.enqueue("test.noop", {"a": 1}, idempotency_key="old")
    outcomes = jobs.enqueue_many(
        [NewJob(type="test.noop", payload={"a": 2}, idempotency_key="old"), NewJob(type="test.noop")]
    )
    assert [outcome.outcome for outcome in outcomes] == ["rejected", "created"]
    assert outcomes[0].job is None
    assert isinstance(outcomes[0].error, IdempotencyMismatch)


def test_a_mismatch_is_told_to_its_own_item_only(jobs):
    jobs.enqueue("test.noop", {"a": 1}, idempotency_key="old")
    payloads = [{"a": 1}, {"a": 2}, {"a": 1}]
    outcomes = jobs.enqueue_many(
        {"type": "test.noop", "payload": p, "idempotency_key": "old"} for p in payloads
    )
    assert [outcome.job.mismatch for outcome in outcomes] == ["", "payload", ""]


def test_a_bad_item_is_named_and_nothing_is_added(jobs):
    with pytest.raises(InvalidJob, match=r"jobs\[1\]\.payload\.price: nan is not JSON"):
        jobs.enqueue_many([{"type": "test.noop"}, {"type": "test.noop", "payload": {"price": float("nan")}}])
    assert jobs.count() == 0


@pytest.mark.parametrize("item", [{"typ": "test.noop"}, {}, "test.noop", None, 5])
def test_an_item_that_is_no_job_is_named(jobs, item):
    with pytest.raises(InvalidJob, match=r"^jobs\[1\]"):
        jobs.enqueue_many([{"type": "test.noop"}, item])


def test_who_enqueued_is_kept_with_each(jobs):
    outcomes = jobs.enqueue_many([NewJob(type="test.noop")] * 2, enqueued_by="producer")
    assert {outcome.job.enqueued_by for outcome in outcomes} == {"producer"}


def test_more_than_a_statement_holds_is_added_in_several(jobs):
    many = [NewJob(type="test.noop", idempotency_key=f"key-{n % 1500}") for n in range(2500)]
    outcomes = jobs.enqueue_many(many)
    assert [outcome.job.idempotency_key for outcome in outcomes] == [new.idempotency_key for new in many]
    assert jobs.count() == 1500


def test_more_than_a_server_takes_at_once_is_added_in_several(jobs):
    large = {"text": "é" * 30_000}
    outcomes = jobs.enqueue_many([NewJob(type="test.noop", payload=large) for _ in range(320)])
    assert {outcome.outcome for outcome in outcomes} == {"created"}
    assert jobs.last().payload == large

"""pending -> running."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from tests.support.rows import IN_AN_HOUR, job_in


def claimed_ids(jobs, limit=1000, **options):
    return [job.pk for job in jobs.claim_many(worker_id="worker-1", limit=limit, **options)]


def test_a_claim_is_written_into_the_row(jobs):
    jobs.enqueue("test.noop", {"a": 1}, meta={"trace": "abc"})
    job = jobs.claim(worker_id="worker-1", lease_seconds=90, claimed_by="service")
    stored = jobs.get(pk=job.pk)
    assert (stored.status, stored.worker_id, stored.claimed_by) == ("running", "worker-1", "service")
    assert stored.fencing_token == 1
    assert stored.lease_expires_at - stored.claimed_at == timedelta(seconds=90)


def test_what_is_returned_is_what_is_stored(jobs):
    jobs.enqueue("test.noop", {"a": 1}, meta={"trace": "abc"}, idempotency_key="invoice-42")
    job = jobs.claim(worker_id="worker-1")
    stored = jobs.get(pk=job.pk)
    fields = [field.attname for field in jobs.model._meta.concrete_fields]
    assert {name: getattr(job, name) for name in fields} == {name: getattr(stored, name) for name in fields}


def test_the_setting_is_the_default_lease(jobs, settings):
    settings.JOBQUEUE = {"LEASE_SECONDS": 45}
    jobs.enqueue("test.noop")
    job = jobs.claim(worker_id="worker-1")
    assert job.lease_expires_at - job.claimed_at == timedelta(seconds=45)


def test_the_token_rises_at_every_claim(jobs):
    jobs.enqueue("test.noop")
    tokens = []
    for _ in range(3):
        job = jobs.claim(worker_id="worker-1")
        tokens.append(job.fencing_token)
        jobs.release(job.pk, fencing_token=job.fencing_token)
    assert tokens == [1, 2, 3]


def test_no_pending_job_is_none(jobs):
    jobs.enqueue("test.noop", run_at=IN_AN_HOUR)
    job_in("completed", queue="done")
    assert jobs.claim(worker_id="worker-1") is None
    assert jobs.claim_many(worker_id="worker-1", limit=5) == []


def test_a_claimed_job_is_not_claimed_again(jobs):
    jobs.enqueue("test.noop")
    assert jobs.claim(worker_id="worker-1") is not None
    assert jobs.claim(worker_id="worker-2") is None


def test_high_priorities_go_first_and_negative_ones_last(jobs):
    given = [0, -1, 30, 10, -100, 100, 20, 1]
    ids = {priority: jobs.enqueue("test.noop", priority=priority).pk for priority in given}
    assert claimed_ids(jobs) == [ids[priority] for priority in sorted(given, reverse=True)]


def test_within_a_priority_the_oldest_goes_first(jobs):
    ids = [jobs.enqueue("test.noop", priority=priority).pk for priority in (0, 10, 0, 10, 0)]
    assert [jobs.claim(worker_id="worker-1").pk for _ in ids] == [ids[1], ids[3], ids[0], ids[2], ids[4]]


def test_a_retried_job_keeps_its_place(jobs):
    first, second = (jobs.enqueue("test.noop").pk for _ in range(2))
    job = jobs.claim(worker_id="worker-1")
    jobs.fail(job.pk, error="boom", fencing_token=job.fencing_token)
    assert claimed_ids(jobs) == [first, second]


@pytest.mark.parametrize("limit", [1, 2, 5, 6, 20])
@pytest.mark.parametrize("queues", [None, ["a", "b", "c"], ["c", "b", "a", "a", "nobody"]])
def test_the_order_is_merged_over_queues(jobs, limit, queues):
    placed = [("a", 0), ("b", 10), ("c", -5), ("a", 10), ("b", 0), ("c", 20), ("a", -5), ("c", 10)]
    ids = [jobs.enqueue("test.noop", queue=queue, priority=priority).pk for queue, priority in placed]
    ordered = [id for _, id in sorted((-priority, id) for (_, priority), id in zip(placed, ids, strict=True))]
    taken = []
    while got := claimed_ids(jobs, limit, queues=queues):
        assert len(got) <= limit
        taken += got
    assert taken == ordered


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_a_claim_takes_no_more_than_it_asks_for(jobs, limit):
    for number in range(30):
        jobs.enqueue("test.noop", queue=f"queue-{number % 3}")
    assert len(claimed_ids(jobs, limit)) == limit
    assert jobs.filter(status="running").count() == limit


def test_a_claim_takes_all_there_is_when_it_asks_for_more(jobs):
    ids = [jobs.enqueue("test.noop", queue=f"queue-{number % 3}").pk for number in range(7)]
    assert claimed_ids(jobs, 1000) == ids


def test_only_the_given_queues_are_served(jobs):
    mail = jobs.enqueue("test.noop", queue="mail").pk
    jobs.enqueue("test.noop", queue="images", priority="critical")
    assert claimed_ids(jobs, queues=["mail", "reports"]) == [mail]


@pytest.mark.parametrize("queues", [None, ["mail", "images"]])
def test_an_excluded_queue_is_not_served(jobs, queues):
    mail = jobs.enqueue("test.noop", queue="mail").pk
    jobs.enqueue("test.noop", queue="images", priority="critical")
    assert claimed_ids(jobs, queues=queues, exclude_queues=["images"]) == [mail]


def test_no_queue_at_all_serves_none(jobs):
    jobs.enqueue("test.noop")
    assert claimed_ids(jobs, queues=[]) == []
    assert claimed_ids(jobs, queues=["default"], exclude_queues=["default"]) == []


@pytest.mark.parametrize(
    ("one", "other"), [("mail", "Mail"), ("mail", "mail "), ("café", "cafe"), ("caf\u00e9", "cafe\u0301")]
)
def test_queues_are_compared_exactly(jobs, one, other):
    job = jobs.enqueue("test.noop", queue=one).pk
    jobs.enqueue("test.noop", queue=other, priority="high")
    assert claimed_ids(jobs, queues=[one]) == [job]
    assert claimed_ids(jobs, queues=[one, "third"]) == []


def test_more_queues_than_a_statement_may_unite_are_served(jobs):
    queues = [f"queue-{number:03}" for number in range(650)]
    ids = [outcome.job.pk for outcome in jobs.enqueue_many({"type": "test.noop", "queue": q} for q in queues)]
    assert claimed_ids(jobs, 20) == ids[:20]
    assert claimed_ids(jobs, 600, queues=queues) == ids[20:620]
    assert claimed_ids(jobs, 600) == ids[620:]


@pytest.mark.parametrize("queues", [None, ["default"], ["default", "mail"]])
def test_only_the_given_types_are_taken(jobs, queues):
    jobs.enqueue("test.noop", priority="critical")
    wanted = [jobs.enqueue("test.echo", queue=queue).pk for queue in ("default", "default")]
    jobs.enqueue("test.sleep")
    assert claimed_ids(jobs, queues=queues, types=["test.echo", "test.none"]) == wanted


def test_the_types_of_another_queue_are_found_behind_other_heads(jobs):
    jobs.enqueue("test.noop", queue="images", priority="critical")
    wanted = jobs.enqueue("test.echo", queue="mail").pk
    assert claimed_ids(jobs, types=["test.echo"]) == [wanted]


def test_no_type_at_all_takes_none(jobs):
    jobs.enqueue("test.noop")
    assert claimed_ids(jobs, types=[]) == []


def test_a_claim_inside_a_transaction_is_gone_with_its_rollback(jobs):
    job = jobs.enqueue("test.noop")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        jobs.claim(worker_id="worker-1")
        raise ZeroDivisionError
    assert (jobs.get(pk=job.pk).status, jobs.get(pk=job.pk).fencing_token) == ("pending", 0)


def test_one_statement_claims_from_one_queue_where_updates_return_rows(jobs, django_assert_max_num_queries):
    jobs.enqueue("test.noop")
    with django_assert_max_num_queries(5):
        assert len(jobs.claim_many(worker_id="worker-1", limit=10, queues=["default"])) == 1

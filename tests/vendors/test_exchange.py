"""A worker's hot path: completions and the next claims at once, in a transaction of its own or in a caller's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from django.db import transaction

from django_jobqueue.jobs.pending.take import Wanted
from django_jobqueue.models import Job
from django_jobqueue.vendors import Claim, HeldClaim
from tests.support.rows import row_of

pytestmark = pytest.mark.django_db(transaction=True)

ME = Claim(worker_id="worker-1", claimed_by="", lease_seconds=60)


@pytest.fixture(params=["alone", "in a transaction"], autouse=True)
def surroundings(request: pytest.FixtureRequest, transactional_db: None) -> Iterator[None]:
    with transaction.atomic() if request.param == "in a transaction" else nullcontext():
        yield


@pytest.fixture(
    params=[["default"], None, ["default", "nobody"]], ids=["one queue", "all queues", "some queues"]
)
def queues(request):
    return request.param


def enqueue(*priorities):
    return [
        Job.objects.enqueue("test.noop", {"p": priority}, priority=priority).pk for priority in priorities
    ]


def exchange(done, limit, queues, after=None):
    completed, rows = Job.objects.exchange(done, ME, Wanted(limit, queues, after=after))
    return completed, [HeldClaim(row[0], row[7]) for row in rows]


def test_what_is_done_is_completed_and_the_next_is_claimed(queues):
    ids = enqueue(0, 0, 0, 0)
    _, mine = exchange([], 2, queues)
    assert mine == [(ids[0], 1, None, True), (ids[1], 1, None, True)]
    done = [mine[0]._replace(value='{"n":1}'), mine[1]]
    completed, mine = exchange(done, 5, queues)
    assert (completed, [claim.id for claim in mine]) == (set(ids[:2]), ids[2:])
    assert dict(Job.objects.filter(status="completed").values_list("pk", "result")) == {
        ids[0]: {"n": 1},
        ids[1]: None,
    }


def test_the_rows_are_in_order_and_say_what_a_worker_needs(queues):
    ids = enqueue(0, 10, -5, 10)
    _, rows = Job.objects.exchange([], ME, Wanted(10, queues))
    assert [row[0] for row in rows] == [ids[1], ids[3], ids[0], ids[2]]
    assert [row[1:] for row in rows[:1]] == [
        ("test.noop", rows[0][2], "default", 10, 0, 3, 1, None, rows[0][9], rows[0][10], False)
    ]


def test_a_claim_that_was_lost_is_not_completed(queues):
    enqueue(0)
    _, [mine] = exchange([], 1, queues)
    Job.objects.release(mine.id, fencing_token=1)
    Job.objects.claim(worker_id="worker-2")
    before = row_of(mine.id)
    assert exchange([mine._replace(value="1")], 1, queues) == (set(), [])
    assert row_of(mine.id) == before


def test_a_row_that_is_not_to_be_kept_goes(queues):
    ids = enqueue(0, 0)
    _, mine = exchange([], 2, queues)
    completed, _ = exchange([mine[0]._replace(keep=False), mine[1]], 1, queues)
    assert completed == set(ids)
    assert list(Job.objects.values_list("pk", "status")) == [(ids[1], "completed")]


@pytest.mark.parametrize("end", ["released", "completed", "claimed again", "failed"])
def test_a_row_whose_claim_was_lost_does_not_go(queues, end):
    enqueue(0)
    _, [mine] = exchange([], 1, queues)
    if end == "completed":
        Job.objects.complete(mine.id, fencing_token=1)
    elif end == "failed":
        Job.objects.fail(mine.id, error="boom", fencing_token=1)
    else:
        Job.objects.release(mine.id, fencing_token=1)
    if end == "claimed again":
        Job.objects.claim(worker_id="worker-2")
    before = row_of(mine.id)
    assert Job.objects.complete_claims([mine._replace(keep=False)]) == set()
    assert row_of(mine.id) == before


def test_a_claim_behind_a_place_takes_what_is_behind_it_or_more_urgent():
    ids = enqueue(0, 0, 0, 10, -5, 0)
    _, mine = exchange([], 10, ["default"], after=(0, ids[1]))
    taken = {claim.id for claim in mine}
    assert taken >= {ids[2], ids[3], ids[5]}  # what else it takes depends on how it is carried out
    assert taken <= set(ids)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_claim_behind_a_place_takes_no_more_than_asked_for_and_the_most_urgent_first(limit):
    ids = enqueue(0, 0, 0, 10, 10)
    _, mine = exchange([], limit, ["default"], after=(0, ids[0] - 1))
    assert [claim.id for claim in mine] == [ids[3], ids[4], ids[0]][:limit]
    assert Job.objects.filter(status="running").count() == limit


def test_a_claim_behind_a_place_takes_only_pending_jobs_of_its_queue():
    other = Job.objects.enqueue("test.noop", queue="mail", priority="critical")
    done = enqueue(0, 10)
    _, mine = exchange([], 5, ["default"])
    exchange(mine, 1, ["default"])
    assert exchange([], 5, ["default"], after=(0, done[0] - 1)) == (set(), [])
    assert Job.objects.get(pk=other.pk).status == "pending"

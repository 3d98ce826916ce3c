"""Claims by real processes: each job goes to one claimer, and nobody goes empty while there are free jobs."""

from __future__ import annotations

from collections import Counter

import pytest
from django.db import connection

from django_jobqueue.models import Job
from tests.support import claimers

QUEUES = ["a", "b", "c"]


def enqueue(count, *, queues=("default",), types=("test.noop",)):
    outcomes = Job.objects.enqueue_many(
        {
            "type": types[number % len(types)],
            "queue": queues[number % len(queues)],
            "priority": number % 5 - 2,
        }
        for number in range(count)
    )
    return [outcome.job.pk for outcome in outcomes]


@pytest.mark.parametrize(
    ("count", "queues", "served", "exchange"),
    [
        (3000, ("default",), ["default"], False),
        (1000, ("default",), ["default"], True),
        (1000, QUEUES, None, False),
    ],
)
def test_eight_processes_claim_all_jobs_each_once(race, count, queues, served, exchange):
    ids = enqueue(count, queues=queues)
    for number in range(8):
        limit = [1, 3, 10, 50][number % 4]
        race.add(claimers.claim_all, f"worker-{number}", limit=limit, queues=served, exchange=exchange)
    handed_out = [claim for got in race.run() for claim in got]
    assert Counter(job_id for job_id, _ in handed_out) == Counter(ids)
    assert {token for _, token in handed_out} == {1}
    assert Job.objects.filter(status="running", fencing_token=1).count() == count


def test_each_row_names_the_claimer_that_was_given_it(race):
    enqueue(300)
    for number in range(4):
        race.add(claimers.claim_all, f"worker-{number}", limit=5, queues=None, exchange=False)
    given = {job_id: f"worker-{number}" for number, got in enumerate(race.run()) for job_id, _ in got}
    assert given == dict(Job.objects.values_list("pk", "worker_id"))


@pytest.mark.parametrize(
    ("queues", "served"), [(("default",), ["default"]), (QUEUES, None), (QUEUES, ["c", "b", "a"])]
)
def test_while_there_are_free_jobs_each_parallel_claimer_gets_one(race, queues, served):
    rounds, claimers_count = 25, 5
    for number in range(claimers_count):
        race.add(claimers.claim_one_a_round, f"worker-{number}", rounds=rounds, queues=served, types=None)
    barrier = race.begin(with_test=True)
    placed = []
    for _ in range(rounds):
        placed.append(sorted(enqueue(claimers_count, queues=queues)))
        barrier.wait(30)
        barrier.wait(30)
    got = [sorted(claims) for claims in zip(*race.end(), strict=True)]
    assert got == placed


def test_claimers_of_different_types_do_not_hide_jobs_from_each_other(race):
    rounds, types = 40, ["test.noop", "test.echo", "test.sleep", "test.fail"]
    for number, type in enumerate(types):
        race.add(
            claimers.claim_one_a_round, f"worker-{number}", rounds=rounds, queues=["default"], types=[type]
        )
    barrier = race.begin(with_test=True)
    placed = []
    for _ in range(rounds):
        placed.append(enqueue(len(types), types=types))
        barrier.wait(30)
        barrier.wait(30)
    assert [list(claims) for claims in zip(*race.end(), strict=True)] == placed


def test_two_claimers_of_one_job_are_one_winner(race):
    rounds = 60
    for number in range(2):
        race.add(
            claimers.claim_one_a_round, f"worker-{number}", rounds=rounds, queues=["default"], types=None
        )
    barrier = race.begin(with_test=True)
    placed = []
    for _ in range(rounds):
        placed += enqueue(1)
        barrier.wait(30)
        barrier.wait(30)
    won = [[job_id for job_id in claims if job_id] for claims in zip(*race.end(), strict=True)]
    assert won == [[job_id] for job_id in placed]


def test_a_claim_passes_over_a_row_that_another_transaction_holds(race):
    held, free = enqueue(2, types=["test.noop"])
    Job.objects.filter(pk=held).update(priority=50)
    race.add(claimers.hold_row, held)
    barrier = race.begin(with_test=True)
    barrier.wait(30)
    if connection.features.has_select_for_update_skip_locked:
        claimed = Job.objects.claim_many(worker_id="worker-1", limit=2, queues=["default"])
        barrier.wait(30)
        assert [job.pk for job in claimed] == [free]
    else:  # one writer at a time: there is nothing to pass over, only to wait for
        barrier.wait(30)
        claimed = Job.objects.claim_many(worker_id="worker-1", limit=2, queues=["default"])
        assert [job.pk for job in claimed] == [held, free]
    race.end()

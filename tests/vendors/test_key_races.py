"""One key from many processes at once is one job, and everything at once loses nothing."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from django_jobqueue.models import Job, JobAttempt
from tests.support import claimers


@pytest.mark.parametrize(("size", "in_transaction"), [(1, False), (1, True), (4, False)])
def test_a_key_that_many_enqueue_at_once_is_one_job(race, size, in_transaction):
    rounds = [[f"key-{number}-{part}" for part in range(size)] for number in range(25)]
    for number in range(8):
        # Every other one has the keys of a round in the other order, so that they can wait for each other.
        keys = [list(reversed(some)) if number % 2 else some for some in rounds]
        race.add(claimers.enqueue_keys, keys, in_transaction=in_transaction)
    seen = defaultdict(list)
    for got in race.run():
        for key, job_id, replayed in got:
            seen[key].append((job_id, replayed))
    assert set(seen) == {key for some in rounds for key in some}
    for answers in seen.values():
        assert len({job_id for job_id, _ in answers}) == 1
        assert Counter(replayed for _, replayed in answers) == {True: 7, False: 1}
    assert Job.objects.count() == len(seen)


def test_everything_at_once_loses_nothing_and_fails_nowhere(race):
    for seed in range(6):
        race.add(claimers.mix_everything, seed, seconds=4)
    created: list[int] = []
    ended: dict[int, list[str]] = defaultdict(list)
    for notes in race.run():
        for what, job_id, status in notes:
            created.append(job_id) if what == "created" else ended[job_id].append(status)
    assert max(Counter(created).values()) == 1
    # A job ends once; that it was cancelled may be told to several who asked.
    assert all(len(ends) == 1 or set(ends) == {"cancelled"} for ends in ended.values())
    left = dict(Job.objects.values_list("pk", "status"))
    alive = {job_id for job_id, status in left.items() if status in ("pending", "scheduled", "running")}
    assert alive.isdisjoint(ended)
    assert alive | set(ended) == set(created)
    assert set(JobAttempt.objects.values_list("job_id", flat=True)) <= set(left)

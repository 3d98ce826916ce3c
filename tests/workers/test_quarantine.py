"""When a job that was lost with a worker may begin, and what is isolated beside it."""

from __future__ import annotations

import pytest

from django_jobqueue.models import Job
from django_jobqueue.vendors import Claim
from django_jobqueue.workers import quarantine
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.quarantine import Quarantine

CLAIM = Claim(worker_id="worker-1", claimed_by="", lease_seconds=9.5)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(quarantine, "time", clock)
    return clock


def job(id: int, *, lost: bool) -> RunningJob:
    return RunningJob(Job.objects, CLAIM, (id, "t", "{}", "default", 0, 0, 3, 1, None, "{}", None, lost))


FRESH, LOST = job(1, lost=False), job(2, lost=True)


def test_without_a_lost_job_nothing_is_isolated(clock: Clock):
    rules = Quarantine(enabled=True)
    assert rules.admit([FRESH], busy=lambda: True) == ([FRESH], [])
    assert not rules.isolates(FRESH)


def test_beside_a_lost_job_every_job_that_begins_is_isolated(clock: Clock):
    rules = Quarantine(enabled=True)
    assert rules.admit([FRESH, LOST], busy=lambda: False) == ([FRESH, LOST], [])
    assert rules.isolates(FRESH)
    clock.now += 3600
    assert rules.waits(lambda: [LOST])
    assert not rules.waits(lambda: [FRESH])
    assert not rules.isolates(FRESH)


def test_a_lost_job_waits_until_no_handler_runs_inside_the_worker_but_not_for_ever(clock: Clock):
    rules = Quarantine(enabled=True)
    for _ in range(60):
        assert rules.admit([LOST, FRESH], busy=lambda: True) == ([FRESH], [LOST])
        assert rules.isolates(FRESH)
        clock.now += 1
    clock.now += 1
    assert rules.admit([LOST], busy=lambda: True) == ([LOST], [])


def test_a_worker_that_cannot_isolate_runs_everything_as_before(clock: Clock):
    rules = Quarantine(enabled=False)
    assert rules.admit([FRESH, LOST], busy=lambda: True) == ([FRESH, LOST], [])
    assert not rules.isolates(LOST)

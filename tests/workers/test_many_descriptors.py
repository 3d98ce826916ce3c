"""What waits on descriptors does so in a process that has more than 1,024 of them open."""

from __future__ import annotations

import os
import resource

import pytest

from django_jobqueue.api.waiting import Watcher, wait_for_jobs
from django_jobqueue.workers.wakeup import Wakeup


@pytest.fixture
def many_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1500), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    yield
    for descriptor in opened:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_bell_is_heard_above_descriptor_1023(many_descriptors):
    bell, other = Wakeup(), Wakeup()
    assert bell.fileno() > 1023
    bell.ring()
    assert bell.wait(300) is False
    os.write(other.fileno(), b"x")
    assert bell.wait(300, also=other._reader.fileno()) is True
    bell.close()
    other.close()


def test_a_bell_that_nobody_waits_for_any_more_may_be_rung():
    bell = Wakeup()
    bell.close()
    bell.ring()


@pytest.fixture
def looks(monkeypatch):
    """What the watcher meets at its next looks: an exception to raise, or ``None`` to wake all that wait."""
    planned: list[BaseException | None] = []

    def look(self, listener, waiters):
        if (error := planned.pop(0) if planned else None) is not None:
            raise error
        for waiter in waiters:
            waiter.wake()

    monkeypatch.setattr(Watcher, "_look", look)
    return planned


def test_a_claim_waits_above_descriptor_1023(many_descriptors, looks):
    assert wait_for_jobs(None, 60, principal="w")


@pytest.mark.parametrize(
    "error", [ValueError("filedescriptor out of range"), SystemExit(3), KeyboardInterrupt()]
)
def test_nothing_that_is_raised_ends_the_watcher(error, looks, caplog):
    looks.append(error)
    assert wait_for_jobs(None, 60, principal="w")
    assert type(error).__name__ in caplog.text

"""Receivers of the signals belong to the project: whatever they do, they harm no job, worker or enqueuer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import close_old_connections, connections
from django.dispatch import Signal

from django_jobqueue import signals
from django_jobqueue.exceptions import Interruption
from django_jobqueue.models import Job
from tests.support.processes import wait_until
from tests.support.workers import drain, running, worker

pytestmark = pytest.mark.django_db(transaction=True)

ALL = (signals.job_enqueued, signals.job_started, signals.job_finished)


@contextmanager
def connected(receiver: Callable[..., object], *to: Signal) -> Iterator[None]:
    for signal in to:
        signal.connect(receiver)
    try:
        yield
    finally:
        for signal in to:
            signal.disconnect(receiver)


class Unreadable(BaseException):
    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Unreadable()])
@pytest.mark.parametrize("type", ["test.noop", "test.async_effect"])
def test_whatever_a_receiver_raises_harms_neither_job_nor_neighbour_and_is_logged(caplog, error, type):
    told: list[str] = []

    def raising_receiver(**_: object) -> None:
        raise error

    def neighbour(**_: object) -> None:
        told.append("told")

    with connected(raising_receiver, *ALL), connected(neighbour, *ALL):
        job = Job.objects.enqueue(type)
        assert drain() == {"completed": 1}
    assert Job.objects.get(pk=job.pk).status == "completed"
    assert told == ["told"] * 3
    logged = [line for line in caplog.messages if "raising_receiver" in line]
    assert len(logged) == 3
    assert all(error.__class__.__name__ in line for line in logged)


def test_an_async_receiver_is_sent_to_and_may_raise_anything(caplog):
    told: list[str] = []

    async def raising_receiver(**_: object) -> None:
        raise SystemExit(3)

    async def neighbour(**_: object) -> None:
        told.append("told")

    with connected(raising_receiver, *ALL), connected(neighbour, *ALL):
        Job.objects.enqueue("test.noop")
        assert drain() == {"completed": 1}
    assert told == ["told"] * 3
    assert sum("raising_receiver" in line for line in caplog.messages) == 3


def test_the_end_of_a_handlers_time_ends_a_receiver_in_it_too():
    class Late(Interruption):
        pass

    def receiver(**_: object) -> None:
        raise Late

    with connected(receiver, signals.job_started), pytest.raises(Late):
        signals.send(signals.job_started, Job)


def close(**_: object) -> None:
    for connection in connections.all(initialized_only=True):
        connection.close_at = 0.0
    close_old_connections()
    assert not any(connection.connection for connection in connections.all(initialized_only=True))


@pytest.mark.parametrize("how", ["close", "close in a transaction", "use and close"])
def test_a_receiver_that_closes_its_connections_closes_none_of_the_workers(caplog, how):
    def receiver(**_: object) -> None:
        if how != "close":
            Job.objects.exists()
        if how == "close in a transaction":
            connections["default"].set_autocommit(False)
            connections["default"].close()
        else:
            close()

    with connected(receiver, signals.job_finished):
        for type in ["test.noop"] * 3 + ["test.fail"]:
            Job.objects.enqueue(type, max_retries=0)
        with running(concurrency=1):
            wait_until(lambda: not Job.objects.exclude(status__in=["completed", "failed"]).exists())
    assert "does not answer" not in caplog.text
    assert "receiver" not in caplog.text


def test_a_receiver_that_sleeps_delays_no_renewal_and_no_claim():
    asleep, awake, first = threading.Event(), threading.Event(), []

    def receiver(job: object, **_: object) -> None:
        if not first:
            first.append(job)
            asleep.set()
            awake.wait(60)

    with connected(receiver, signals.job_finished):
        Job.objects.enqueue("test.noop")
        with running(concurrency=1, lease_seconds=1.0):
            assert asleep.wait(30)
            long = Job.objects.enqueue("test.effect", {"seconds": 1.5})
            wait_until(lambda: Job.objects.get(pk=long.pk).status == "completed")
            awake.set()
    long = Job.objects.get(pk=long.pk)
    assert (long.retry_count, long.fencing_token) == (0, 1)


def test_a_worker_that_ends_sends_what_it_has_to_send_first():
    told: list[int] = []

    def receiver(job: Job, **_: object) -> None:
        threading.Event().wait(0.05)
        told.append(job.id)

    with connected(receiver, signals.job_finished):
        jobs = [Job.objects.enqueue("test.noop").pk for _ in range(10)]
        drain(concurrency=1)
    assert told == jobs


@pytest.mark.parametrize("twice", [False, True])
def test_a_receiver_that_never_returns_holds_up_no_end(caplog, twice):
    asleep, awake = threading.Event(), threading.Event()

    def receiver(**_: object) -> None:
        asleep.set()
        awake.wait(60)

    with connected(receiver, signals.job_finished):
        Job.objects.enqueue("test.noop")
        started = worker(shutdown_timeout=60.0 if twice else 0.5)
        codes: list[int] = []
        thread = threading.Thread(target=lambda: codes.append(started.run()))
        thread.start()
        assert asleep.wait(30)
        for _ in range(2 if twice else 1):
            started.shutdown.request()
        thread.join(30)
        awake.set()
    assert codes == [0]
    assert "job_finished" in caplog.text
    wait_until(lambda: not [each for each in threading.enumerate() if each.name == "jobqueue-signals"])

"""What isolation is made of: the options of a handler, the messages, and the waiting for a process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from django_jobqueue import job_handler, registry
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.models import Job
from django_jobqueue.vendors import Claim
from django_jobqueue.workers.execute import JobInterrupted, JobTimedOut
from django_jobqueue.workers.isolation.memory import MemoryLimitExceeded, limited
from django_jobqueue.workers.isolation.messages import dump_outcome, load_outcome, receive_job, send_job
from django_jobqueue.workers.isolation.run import IsolatedRun
from django_jobqueue.workers.isolation.server import ForkServerGone
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Completed, Failed, Outcome, Released, Written

pytestmark = pytest.mark.django_db

MIB = 1024 * 1024
CREATED = datetime(2026, 5, 1, tzinfo=UTC)
ROW = (7, "report", '{"a": [1]}', "mail", 10, 2, 3, 5, "key", '{"tag": "x"}', CREATED, False)


@pytest.fixture
def job() -> RunningJob:
    return RunningJob(Job.objects, Claim(worker_id="worker-1", claimed_by="", lease_seconds=9.5), ROW)


@pytest.fixture(autouse=True)
def _own_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_handlers", {})


def register(**options: Any) -> registry.Handler:
    return job_handler("iso", **options)(lambda job: None)


# The options of a handler.


def test_a_handler_may_be_isolated_with_a_memory_limit():
    handler = register(isolate=True, memory_limit=16 * MIB, timeout=5)
    assert (handler.isolate, handler.memory_limit, handler.timeout) == (True, 16 * MIB, 5)


def test_an_isolated_async_handler_needs_no_place_on_the_event_loop():
    @job_handler("iso", isolate=True)
    async def handle(job: Any) -> None:
        pass

    assert handle.is_async is False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory_limit": 64 * MIB}, "memory_limit: only a process can be limited; add isolate=True."),
        ({"isolate": True, "memory_limit": 512}, "memory_limit: 512 is not a number of bytes from 16777216"),
        ({"isolate": True, "memory_limit": True}, "memory_limit: True is not a number of bytes"),
        ({"isolate": True, "memory_limit": "64M"}, "memory_limit: '64M' is not a number of bytes"),
        ({"isolate": True, "memory_limit": 64.0 * MIB}, "memory_limit: 67108864.0 is not a number of bytes"),
        ({"isolate": True, "atomic": True}, "isolate: an atomic handler runs in the worker's process"),
    ],
)
def test_contradictory_options_are_refused(options: dict[str, Any], message: str):
    with pytest.raises(ValueError) as refusal:
        register(**options)
    assert str(refusal.value).startswith(message)


# Messages.


def test_a_job_arrives_as_it_was_sent(job: RunningJob):
    here, there = socket.socketpair()
    with here, there:
        send_job(here, job)
        arrived = receive_job(there)
    assert arrived.parts() == job.parts() == ("default", job._claim, ROW)
    assert (arrived.worker_id, arrived.payload, arrived.meta) == ("worker-1", {"a": [1]}, {"tag": "x"})


def test_a_worker_that_is_gone_sends_no_job():
    here, there = socket.socketpair()
    with there:
        here.close()
        with pytest.raises(EOFError):
            receive_job(there)


@pytest.mark.parametrize(
    "outcome",
    [
        Completed(),
        Completed('{"a": "ä\\n"}'),
        Written(),
        Released(),
        Released(1.5, "later"),
        Failed(Failure(error="boom")),
        Failed(
            Failure(
                error="boom",
                outcome="timed_out",
                retryable=False,
                retry_in=2.0,
                exception_class="builtins.RuntimeError",
                traceback="line\nline",
            )
        ),
    ],
)
def test_an_outcome_arrives_as_it_was_told(outcome: Outcome):
    assert load_outcome(dump_outcome(outcome)) == outcome


def test_an_outcome_is_one_line_however_long_and_strange_its_texts_are():
    told = dump_outcome(Failed(Failure(error="\0\ud800\n" * 1_000_000, traceback="\u2028\n" * 1_000_000)))
    assert (told.count(b"\n"), told[-1:], len(told) < 500_000) == (1, b"\n", True)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"\xff\n",
        b"17\n",
        b"[" * 100_000,
        b'["Completed", [17]]\n',
        b'["Completed", [null, null]]\n',
        b'["Released", ["1", null]]\n',
        b'["Failed", {"error": "boom"}]\n',
        b'["Unknown", []]\n',
    ],
)
def test_what_is_no_outcome_is_refused(line: bytes):
    with pytest.raises(ValueError):
        load_outcome(line)


# The memory limit.


def test_a_limit_ends_with_its_block():
    with (
        pytest.raises(MemoryLimitExceeded, match=r"exceeded memory_limit \(16777216 bytes\)"),
        limited(16 * MIB),
    ):
        bytearray(64 * MIB)
    assert len(bytearray(64 * MIB)) == 64 * MIB


def test_without_a_limit_a_memory_error_stays_what_it_is():
    with pytest.raises(MemoryError) as raised, limited(None):
        raise MemoryError("of the handler")
    assert type(raised.value) is MemoryError


# Waiting.


class FakeServer:
    """A fork server whose process says and does what the test wants."""

    def __init__(self) -> None:
        self.talk, self._workers_talk = socket.socketpair()
        self.lifeline, self._workers_lifeline = socket.socketpair()
        self.dead = False
        self.found_dead = False

    def start_process(self) -> tuple[socket.socket, socket.socket]:
        if self.dead:
            raise ForkServerGone
        return self._workers_talk, self._workers_lifeline

    def note_death(self) -> None:
        self.found_dead = True

    def answer(self, end: str) -> None:
        self.lifeline.sendall(end.encode())
        self.lifeline.close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    server = FakeServer()
    yield server
    for end in (server.talk, server.lifeline, server._workers_talk, server._workers_lifeline):
        end.close()


@pytest.fixture
def run(server: FakeServer, job: RunningJob) -> IsolatedRun:
    return IsolatedRun(server, register(isolate=True, timeout=5), job)


def test_an_outcome_told_just_before_the_end_is_heard(server: FakeServer, run: IsolatedRun):
    outcome = Completed('"' + "x" * 150_000 + '"')
    server.talk.sendall(dump_outcome(outcome))
    server.answer("0")
    assert run.wait() == outcome


def test_an_outcome_counts_also_when_the_process_died_after_it(server: FakeServer, run: IsolatedRun):
    server.talk.sendall(dump_outcome(Completed()))
    server.answer("-9")
    assert run.wait() == Completed()


def test_a_process_that_stays_after_its_outcome_is_killed(
    server: FakeServer, run: IsolatedRun, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("django_jobqueue.workers.isolation.run._EXIT_GRACE", 0.0)
    server.talk.sendall(dump_outcome(Completed()))
    assert heard_by(server, run) == (b"K", Completed())


def test_one_that_speaks_without_end_is_killed_at_once(
    server: FakeServer, run: IsolatedRun, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run, "_room", 1000)
    monkeypatch.setattr("django_jobqueue.workers.isolation.run._EXIT_GRACE", 60.0)
    server.talk.sendall(b"x" * 2000)
    orders, outcome = heard_by(server, run)
    assert (orders, outcome.failure.error) == (b"K", "The job's process told an outcome that cannot be read.")


@pytest.mark.parametrize(
    ("reason", "outcome", "error"),
    [
        (JobTimedOut, "timed_out", "JobTimedOut: ran for more than 5 s and was killed"),
        (JobInterrupted, None, "The worker was stopped before the job could finish."),
    ],
)
def test_a_run_stopped_before_it_began_is_stopped_all_the_same(
    server: FakeServer, run: IsolatedRun, reason: type[BaseException], outcome: str | None, error: str
):
    run.stop(reason)
    server.answer("-9")
    ended = run.wait()
    if outcome is None:
        assert ended == Released(0.0, error)
    else:
        assert (ended.failure.outcome, ended.failure.error) == (outcome, error)


def test_an_interruption_does_not_wait_for_the_grace_of_a_timeout(server: FakeServer, run: IsolatedRun):
    began = time.monotonic()
    run.stop(JobTimedOut)
    run.stop(JobInterrupted)
    orders, outcome = heard_by(server, run)
    assert orders == b"TK"
    assert outcome.failure.outcome == "timed_out"
    assert time.monotonic() - began < 0.5


def test_where_no_process_could_be_started_the_job_is_given_back(server: FakeServer, run: IsolatedRun):
    server.answer("no process could be started: Resource temporarily unavailable")
    outcome = run.wait()
    assert isinstance(outcome, Released)
    assert (outcome.delay, "Resource temporarily unavailable" in str(outcome.reason)) == (16.0, True)


def test_where_the_fork_server_is_gone_the_job_is_given_back(server: FakeServer, run: IsolatedRun):
    server.dead = True
    assert run.wait() == Released(16.0, "Worker worker-1 cannot isolate jobs: its fork server has died.")


def test_a_fork_server_that_dies_meanwhile_is_noticed(server: FakeServer, run: IsolatedRun):
    server.lifeline.close()
    outcome = run.wait()
    assert outcome == Failed(Failure(error="The job's process died with the fork server of its worker."))
    assert server.found_dead


def heard_by(server: FakeServer, run: IsolatedRun) -> tuple[bytes, Any]:
    """What the fork server is ordered until it is to kill, and how the run ends after that."""
    ended: list[Outcome] = []
    thread = threading.Thread(target=lambda: ended.append(run.wait()))
    thread.start()
    server.lifeline.settimeout(10)
    orders = b""
    while b"K" not in orders:
        orders += server.lifeline.recv(1)
    server.answer("-9")
    thread.join(10)
    return orders, ended[0]

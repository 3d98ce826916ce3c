"""The supervisor of several worker processes, in a process of its own, with work that does as it is told."""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from django_jobqueue.workers import processes as supervisors
from django_jobqueue.workers.processes import run_processes
from tests.support.processes import Processes, kill, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


class Notes:
    """What the processes of a test have to say, a line each, in a file that all of them write to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, line: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{line}\n")

    def found(self, pattern: str) -> list[Any]:
        return re.findall(pattern, self.path.read_text() if self.path.exists() else "", re.MULTILINE)

    def started(self, number: int = 1) -> list[int]:
        """The pids of the processes that were worker number ``number``."""
        return [int(pid) for pid in self.found(rf"^start {number} (\d+)$")]


# What a worker process does. Each is given its number and the notes.


def exit_with_0(number: int, notes: Notes) -> int:
    return 0


def exit_with_3(number: int, notes: Notes) -> int:
    return 3


def raise_an_error(number: int, notes: Notes) -> int:
    raise RuntimeError("not today")


def until_stopped(number: int, notes: Notes) -> int:
    """Note each SIGTERM and end some time after the first, like a worker: 1 after a second one."""
    stops: list[int] = []

    def stop(received: int, frame: object) -> None:
        notes.add(f"stop {number}")
        stops.append(received)

    signal.signal(signal.SIGTERM, stop)
    notes.add(f"ready {number}")
    while not stops:
        time.sleep(0.01)
    time.sleep(0.5)
    return 0 if len(stops) == 1 else 1


def first_until_stopped(number: int, notes: Notes) -> int:
    return until_stopped(number, notes) if number == 1 else 0


def sleep(number: int, notes: Notes) -> int:
    notes.add(f"ready {number}")
    time.sleep(60)
    return 0


def ignore_all(number: int, notes: Notes) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return sleep(number, notes)


def look_at_the_connection(number: int, notes: Notes) -> int:
    notes.add(f"connected {connection.connection is not None}")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return 0


# What the supervisor's process does first.


def ignore_children() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def ignore_hangups() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def count_as_steady_at_once() -> None:
    supervisors._STEADY_AFTER = 0.0


def have_little_grace() -> None:
    supervisors._GRACE = 0.2


def fail_to_fork_once() -> None:
    fork = os.fork

    def fail() -> int:
        os.fork = fork
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    os.fork = fail


def have_a_broken_stdout() -> None:
    class Broken(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    sys.stdout = Broken()


def connect() -> None:
    connection.ensure_connection()


def supervise(
    notes: Path, work: Callable[[int, Notes], int], count: int, shutdown_timeout: float, before: Any
) -> int:
    os.setsid()  # as a shell does with a command in the foreground: a process group of its own
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests run under nohup
    logging.basicConfig(filename=notes, level="INFO", format="log %(message)s", force=True)
    if before is not None:
        before()

    def start(number: int) -> int:
        Notes(notes).add(f"start {number} {os.getpid()}")
        return work(number, Notes(notes))

    code = run_processes(start, count, shutdown_timeout)
    Notes(notes).add("supervisor ended")
    return code


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    return Notes(tmp_path / "notes")


@pytest.fixture
def start(processes: Processes, notes: Notes) -> Callable[..., BaseProcess]:
    def start(
        work: Callable[[int, Notes], int], *, count: int = 1, timeout: float = 30.0, before: Any = None
    ) -> BaseProcess:
        return processes.start(supervise, notes.path, work, count, timeout, before)

    return start


StartSupervisor = Callable[..., BaseProcess]


def ended(supervisor: BaseProcess, timeout: float = 10.0) -> int | None:
    supervisor.join(timeout)
    return supervisor.exitcode


# Death and restart.


def test_every_process_runs_with_its_own_number(start: StartSupervisor, notes: Notes):
    assert ended(start(exit_with_0, count=3)) == 0
    pids = [notes.started(number) for number in (1, 2, 3)]
    assert [len(each) for each in pids] == [1, 1, 1]
    assert len({pid for each in pids for pid in each}) == 3


def test_a_process_that_dies_is_replaced_and_its_end_reported(start: StartSupervisor, notes: Notes):
    start(until_stopped, count=2)
    wait_until(lambda: notes.found("^ready 1") and notes.found("^ready 2"))
    os.kill(notes.started(1)[0], signal.SIGKILL)
    wait_until(lambda: len(notes.started(1)) == 2)
    assert notes.found("^log (Worker process .*)") == [
        "Worker process 1 ended with signal 9; starting it again in 0.1 s"
    ]
    assert len(notes.started(2)) == 1


def test_one_that_dies_again_and_again_is_started_later_each_time(start: StartSupervisor, notes: Notes):
    start(exit_with_3)
    wait_until(lambda: len(notes.started()) == 4)
    assert notes.found("ended with exit code 3; starting it again in (.*) s")[:3] == ["0.1", "0.2", "0.4"]


def test_one_that_has_lived_long_is_started_soon_again(start: StartSupervisor, notes: Notes):
    start(exit_with_3, before=count_as_steady_at_once)
    wait_until(lambda: len(notes.started()) == 4)
    assert set(notes.found("starting it again in (.*) s")) == {"0.1"}


def test_one_that_raises_is_reported_with_its_traceback(start: StartSupervisor, notes: Notes):
    start(raise_an_error)
    wait_until(lambda: len(notes.started()) == 2)
    assert notes.found("RuntimeError: not today")
    assert notes.found("Worker process 1 ended with exit code 1;")


def test_one_that_ends_with_0_is_done_and_the_others_go_on(start: StartSupervisor, notes: Notes):
    supervisor = start(first_until_stopped, count=2)
    wait_until(lambda: notes.found("log Worker process 2 ended with exit code 0"))
    wait_until(lambda: notes.found("^ready 1"))
    os.kill(notes.started(1)[0], signal.SIGKILL)
    wait_until(lambda: len(notes.started(1)) == 2)
    assert (len(notes.started(2)), supervisor.is_alive()) == (1, True)


def test_no_room_for_a_process_is_waited_for(start: StartSupervisor, notes: Notes):
    assert ended(start(exit_with_0, before=fail_to_fork_once)) == 0
    assert notes.found("^log Worker process 1 could not be started") == [
        "log Worker process 1 could not be started"
    ]


def test_exit_codes_are_seen_where_whoever_started_it_ignored_children(start: StartSupervisor, notes: Notes):
    start(exit_with_3, before=ignore_children)
    wait_until(lambda: len(notes.started()) == 2)
    assert notes.found("ended with exit code 3")


def test_a_stdout_that_cannot_be_flushed_changes_no_exit_code(start: StartSupervisor, notes: Notes):
    start(exit_with_3, before=have_a_broken_stdout)
    wait_until(lambda: len(notes.started()) == 2)
    assert notes.found("ended with exit code 3")
    assert not notes.found("supervisor ended")


# Signals.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_every_process_in_order(start: StartSupervisor, notes: Notes, number: signal.Signals):
    supervisor = start(until_stopped, count=2)
    wait_until(lambda: notes.found("^ready 1") and notes.found("^ready 2"))
    kill(supervisor, number)
    assert ended(supervisor) == 0
    assert sorted(notes.found("^stop (.)")) == ["1", "2"]


def test_ctrl_c_in_a_terminal_counts_as_one_signal(start: StartSupervisor, notes: Notes):
    supervisor = start(until_stopped, count=2)
    wait_until(lambda: notes.found("^ready 1") and notes.found("^ready 2"))
    os.killpg(supervisor.pid, signal.SIGINT)
    assert ended(supervisor) == 0
    assert sorted(notes.found("^stop (.)")) == ["1", "2"]


def test_the_second_signal_is_passed_on_too_and_the_exit_code_tells(start: StartSupervisor, notes: Notes):
    supervisor = start(until_stopped)
    wait_until(lambda: notes.found("^ready"))
    kill(supervisor, signal.SIGTERM)
    wait_until(lambda: notes.found("^stop"), interval=0.01)
    kill(supervisor, signal.SIGTERM)
    assert ended(supervisor) == 1
    assert len(notes.found("^stop")) == 2


def test_nohup_is_respected(start: StartSupervisor, notes: Notes):
    supervisor = start(until_stopped, before=ignore_hangups)
    wait_until(lambda: notes.found("^ready"))
    kill(supervisor, signal.SIGHUP)
    supervisor.join(0.5)
    assert (supervisor.exitcode, notes.found("^stop")) == (None, [])


def test_a_process_stopped_before_its_work_has_begun_has_ended_in_order(start: StartSupervisor, notes: Notes):
    supervisor = start(sleep)
    wait_until(lambda: notes.found("^ready"))
    kill(supervisor, signal.SIGTERM)
    assert ended(supervisor) == 0


def test_what_has_not_ended_after_the_timeout_is_killed(start: StartSupervisor, notes: Notes):
    supervisor = start(ignore_all, timeout=0.1, before=have_little_grace)
    wait_until(lambda: notes.found("^ready"))
    kill(supervisor, signal.SIGTERM)
    assert ended(supervisor) == 1
    assert notes.found("log Worker process 1 ended with exit code -9")


def test_the_second_signal_ends_the_wait_for_the_timeout(start: StartSupervisor, notes: Notes):
    supervisor = start(ignore_all, timeout=600, before=have_little_grace)
    wait_until(lambda: notes.found("^ready"))
    # Signals sent too close together are one signal to the process, so this sends until it is gone.
    wait_until(
        lambda: kill(supervisor, signal.SIGTERM) or not supervisor.is_alive(), timeout=10, interval=0.2
    )
    assert supervisor.exitcode == 1


def test_after_a_signal_nothing_is_started_again(start: StartSupervisor, notes: Notes):
    supervisor = start(until_stopped, count=2)
    wait_until(lambda: notes.found("^ready 1") and notes.found("^ready 2"))
    kill(supervisor, signal.SIGTERM)
    wait_until(lambda: notes.found("^stop 1"), interval=0.01)
    os.kill(notes.started(1)[0], signal.SIGKILL)
    assert ended(supervisor) == 1
    assert (len(notes.started(1)), len(notes.started(2))) == (1, 1)


def test_processes_whose_supervisor_is_killed_are_stopped(start: StartSupervisor, notes: Notes):
    supervisor = start(until_stopped, count=2)
    wait_until(lambda: notes.found("^ready 1") and notes.found("^ready 2"))
    kill(supervisor)
    wait_until(lambda: sorted(notes.found("^stop (.)")) == ["1", "2"])


# Connections.


def test_no_connection_is_shared_with_the_supervisor(start: StartSupervisor, notes: Notes):
    assert ended(start(look_at_the_connection, count=2, before=connect)) == 0
    assert notes.found("^connected (.*)") == ["False", "False"]


def test_a_pool_of_connections_is_closed_before_the_fork(monkeypatch: pytest.MonkeyPatch):
    from django_jobqueue.workers.fork import fork

    closed: list[int] = []
    monkeypatch.setattr(connection, "close_pool", lambda: closed.append(os.getpid()), raising=False)
    pid = fork(lambda: 40 + len(closed), on_parent_death=signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 41
    assert closed == [os.getpid()]

"""Effects of real processes, at the same time, stopped and killed."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable

import pytest

from django_jobqueue import ExecutionInDoubt, once
from django_jobqueue.models import JobExecution
from tests.ledger.conftest import entry
from tests.support import racers
from tests.support.models import Effect
from tests.support.processes import Processes, kill, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "invoice:42"


def in_doubt() -> bool:
    return JobExecution.objects.in_doubt().exists()


@pytest.mark.parametrize(("atomic", "count"), [(False, 200), (True, 50)])
def test_two_processes_with_the_same_keys_at_the_same_time_have_each_effect_once(
    processes: Processes, atomic: bool, count: int
):
    keys = [f"key {number}" for number in range(count)]
    barrier = multiprocessing.get_context("forkserver").Barrier(2)
    racing = [processes.start(racers.run_each_once, barrier, keys, atomic) for _ in range(2)]
    for process in racing:
        process.join(60)
    assert [process.exitcode for process in racing] == [0, 0]
    assert sorted(Effect.objects.values_list("name", flat=True)) == sorted(keys)
    assert JobExecution.objects.filter(status="completed", attempts=1).count() == count


@pytest.mark.parametrize("found", ["failed", "stale"])
def test_two_processes_that_find_the_same_broken_entries_take_each_over_once(
    processes: Processes, left_open: Callable[..., JobExecution], found: str
):
    keys = [f"key {number}" for number in range(50)]
    for key in keys:
        left_open(key)
    if found == "failed":
        JobExecution.objects.update(status="failed", lease_expires_at=None)
    barrier = multiprocessing.get_context("forkserver").Barrier(2)
    racing = [processes.start(racers.run_each_once, barrier, keys, False) for _ in range(2)]
    for process in racing:
        process.join(60)
    assert [process.exitcode for process in racing] == [0, 0]
    assert sorted(Effect.objects.values_list("name", flat=True)) == sorted(keys)
    assert JobExecution.objects.filter(status="completed", attempts=2).count() == len(keys)


def test_a_runner_that_is_stopped_past_its_lease_and_overtaken_cannot_overwrite_the_result(
    processes: Processes,
):
    stopped = processes.start(racers.run_slowly, KEY)
    wait_until(Effect.objects.filter(name="started").exists)
    kill(stopped, signal.SIGSTOP)
    wait_until(in_doubt)
    assert once(KEY, lambda: "second") == "second"
    before = JobExecution.objects.filter(pk=KEY).values().get()
    racers.leave("go")
    kill(stopped, signal.SIGCONT)
    stopped.join(20)
    assert stopped.exitcode == racers.LOST
    assert JobExecution.objects.filter(pk=KEY).values().get() == before
    assert before["result"] == "second"


def test_a_runner_that_is_late_but_not_overtaken_records_its_result(processes: Processes):
    stopped = processes.start(racers.run_slowly, KEY)
    wait_until(Effect.objects.filter(name="started").exists)
    kill(stopped, signal.SIGSTOP)
    wait_until(in_doubt)
    racers.leave("go")
    kill(stopped, signal.SIGCONT)
    stopped.join(20)
    assert (stopped.exitcode, entry().result) == (0, "first")


def test_a_runner_that_is_late_cannot_undo_what_a_person_has_settled(processes: Processes):
    stopped = processes.start(racers.run_slowly, KEY)
    wait_until(Effect.objects.filter(name="started").exists)
    kill(stopped, signal.SIGSTOP)
    wait_until(in_doubt)
    JobExecution.objects.confirm(KEY, result="settled")
    racers.leave("go")
    kill(stopped, signal.SIGCONT)
    stopped.join(20)
    assert (stopped.exitcode, entry().result) == (racers.LOST, "settled")


def test_after_a_kill_inside_an_effect_the_next_call_does_what_its_caller_chose(processes: Processes):
    killed = processes.start(racers.die_in_effect, KEY, False)
    killed.join(20)
    wait_until(in_doubt)
    with pytest.raises(ExecutionInDoubt):
        once(KEY, lambda: "second", on_stale="halt")
    assert once(KEY, lambda: "second", on_stale="retry") == "second"


def test_a_kill_inside_an_atomic_effect_leaves_neither_writes_nor_entry(processes: Processes):
    killed = processes.start(racers.die_in_effect, KEY, True)
    killed.join(20)
    assert killed.exitcode == -signal.SIGKILL
    # The server may notice the death a moment later; what the transaction locked is free then.
    assert once(KEY, lambda: "second", atomic=True) == "second"
    assert not Effect.objects.exists()
    assert entry().attempts == 1

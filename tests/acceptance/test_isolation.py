"""Isolated handlers in real workers: whatever ends a job's process ends that job alone, and is accounted for."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from django_jobqueue import constant
from django_jobqueue.jobs import limits
from django_jobqueue.models import Job, JobAttempt
from django_jobqueue.workers.outcome import LEFT_OPEN
from tests.support.models import Effect
from tests.support.processes import Processes, kill, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

QUICK = {"lease": 3.0, "poll_interval": 0.05, "concurrency": 2}

StartWorker = Callable[..., BaseProcess]


def isolating_worker(**options: Any) -> None:
    """In a process of its own: so the test's process does not know the isolated handlers."""
    from tests.support import isolated

    isolated.isolating_worker(**options)


@pytest.fixture
def start_worker(processes: Processes) -> StartWorker:
    return lambda **options: processes.start(isolating_worker, **{**QUICK, **options})


@pytest.fixture
def ended(start_worker: StartWorker) -> Callable[..., Job]:
    """Run one job to its end and return it."""

    def run(type: str, *, max_retries: int = 0, **payload: Any) -> Job:
        job = Job.objects.enqueue(type, payload, max_retries=max_retries)
        worker = start_worker(drain=True)
        worker.join(30)
        assert worker.exitcode == 0
        return Job.objects.get(pk=job.pk)

    return run


def is_alive(pid: int) -> bool:
    """Whether there is such a process that is not merely waiting to be buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def status_of(job: Job) -> str:
    return Job.objects.values_list("status", flat=True).get(pk=job.pk)


def effect_named(name: str) -> Effect | None:
    return Effect.objects.filter(name__startswith=name).first()


# What the handler is given, and what comes back.


def test_an_isolated_handler_runs_in_a_process_of_its_own_and_returns_its_result(start_worker: StartWorker):
    first = Job.objects.enqueue("iso.look", {"a": [1, {"b": None}]}, idempotency_key="k", meta={"tag": "x"})
    second = Job.objects.enqueue("iso.look")
    worker = start_worker(drain=True)
    worker.join(30)
    one, other = (Job.objects.get(pk=job.pk).result for job in (first, second))
    assert one["payload"] == {"a": [1, {"b": None}]}
    assert one["job"] == [first.pk, "default", 0, 0, "k", {"tag": "x"}]
    assert len({worker.pid, one["pid"], other["pid"], one["fork_server"]}) == 4
    assert one["fork_server"] == other["fork_server"]
    assert one["session"] == one["pid"]


def test_the_process_has_one_thread_and_shares_no_connection(ended: Callable[..., Job]):
    result = ended("iso.look").result
    assert (result["threads"], result["connected"]) == (1, False)


def test_two_processes_draw_different_random_numbers(start_worker: StartWorker):
    Job.objects.enqueue_many([{"type": "iso.look"}] * 2)
    start_worker(drain=True).join(30)
    assert len({job.result["random"] for job in Job.objects.all()}) == 2


def test_an_async_handler_may_be_isolated(ended: Callable[..., Job]):
    job = ended("iso.look_async")
    assert (job.status, job.progress) == ("completed", {"done": 1})


def test_a_heartbeat_stores_progress_from_the_process(ended: Callable[..., Job]):
    assert ended("iso.report").progress == {"done": 1}


def test_an_effect_recorded_by_a_process_that_died_is_not_repeated(ended: Callable[..., Job]):
    job = ended("iso.once", max_retries=1)
    assert (job.status, job.retry_count, job.result) == ("completed", 1, {"attempt": 0})
    assert Effect.objects.filter(name="charged").count() == 1


def test_a_handler_may_complete_its_job_in_its_own_transaction(ended: Callable[..., Job]):
    job = ended("iso.complete")
    assert (job.status, job.result) == ("completed", {"by": "hand"})
    assert effect_named("with the completion")


def test_several_worker_processes_isolate_their_jobs_each_by_itself(start_worker: StartWorker):
    jobs = [Job.objects.enqueue("iso.effect", {"seconds": 0.3}) for _ in range(8)]
    supervisor = start_worker(processes=2, drain=True)
    supervisor.join(30)
    assert supervisor.exitcode == 0
    assert {status_of(job) for job in jobs} == {"completed"}
    assert len(set(Effect.objects.values_list("pid", flat=True))) == 8


def test_standard_output_goes_through_and_nothing_is_written_twice(start_worker: StartWorker, tmp_path: Path):
    output = tmp_path / "output"
    Job.objects.enqueue("iso.print", {"text": "printed in the process"})
    start_worker(drain=True, output=str(output)).join(30)
    assert sorted(output.read_text().splitlines()) == ["before the fork", "printed in the process"]


# How it ends.


def test_every_end_of_the_process_is_accounted_for(start_worker: StartWorker):
    expected = {
        "error": ("scheduled", 1, "RuntimeError: no paper\\x00\\ud800"),
        "SystemExit": ("scheduled", 1, "SystemExit: 3"),
        "permanent": ("failed", 0, "PermanentFailure: never again"),
        "later": ("scheduled", 1, "RetryLater: again in 600 s"),
        "snooze": ("scheduled", 0, "again in 600 s"),
        "cancelled": ("cancelled", 0, "Cancelled: as asked"),
        "return": ("completed", 0, ""),
        "set": ("failed", 0, "The handler succeeded, but its result: set is not JSON."),
        "large result": ("completed", 0, ""),
        "open transaction": ("scheduled", 1, LEFT_OPEN.failure.error),
        "exit code 0": ("scheduled", 1, "The job's process ended with exit code 0 before its handler did."),
        "exit code 3": ("scheduled", 1, "The job's process ended with exit code 3 before its handler did."),
        "SIGKILL": (
            "scheduled",
            1,
            "The job's process was killed by signal 9 (SIGKILL), "
            "which is what happens when the machine has no memory left.",
        ),
        "SIGSEGV": ("scheduled", 1, "The job's process was killed by signal 11 (Segmentation fault)."),
        "SIGTERM that nobody sent": ("completed", 0, ""),
        "garbage": ("scheduled", 1, "The job's process told an outcome that cannot be read."),
        "closed sockets": (
            "scheduled",
            1,
            "The job's process ended with exit code 1 before its handler did.",
        ),
        "fork that returns twice": ("completed", 0, ""),
    }
    jobs = {
        how: Job.objects.enqueue("iso.end", {"how": how}, max_retries=1, backoff=constant(600)).pk
        for how in expected
    }
    start_worker(drain=True).join(60)
    ended = Job.objects.in_bulk()
    assert {
        how: (ended[pk].status, ended[pk].retry_count, ended[pk].error) for how, pk in jobs.items()
    } == expected


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("huge error", "RuntimeError: xxx"),
        ("huge result", "The handler succeeded, but its result: has 10000002"),
    ],
)
def test_what_is_far_too_large_is_shortened_or_refused(ended: Callable[..., Job], how: str, error: str):
    job = ended("iso.end", how=how)
    assert (job.status, job.error[: len(error)]) == ("failed", error)
    assert len(job.error) <= limits.ERROR_LENGTH


def test_an_exception_is_recorded_with_its_class_and_traceback(ended: Callable[..., Job]):
    attempt = JobAttempt.objects.get(job=ended("iso.end", how="error"))
    assert (attempt.outcome, attempt.exception_class) == ("failed", "builtins.RuntimeError")
    assert "in _raise" in attempt.traceback


def test_a_crash_takes_no_other_job_and_not_the_worker_along(start_worker: StartWorker):
    worker = start_worker(concurrency=4)
    long = Job.objects.enqueue("iso.effect", {"seconds": 1.0})
    thread = Job.objects.enqueue("test.effect", {"seconds": 1.0})
    wait_until(lambda: Effect.objects.count() == 2)
    crash = Job.objects.enqueue("iso.end", {"how": "SIGSEGV"}, max_retries=1)
    wait_until(lambda: status_of(crash) == "failed")
    wait_until(lambda: status_of(long) == status_of(thread) == "completed")
    assert worker.is_alive()
    assert not JobAttempt.objects.exclude(job=crash).exists()
    assert JobAttempt.objects.filter(job=crash, outcome="failed").count() == 2


def test_what_a_process_has_started_ends_with_it(ended: Callable[..., Job]):
    job = ended("iso.subprocess")
    wait_until(lambda: not is_alive(job.result))


def test_what_a_crashed_process_has_started_ends_with_it(ended: Callable[..., Job]):
    ended("iso.subprocess", then="SIGKILL")
    started = int(effect_named("subprocess").name.split()[1])
    wait_until(lambda: not is_alive(started))


def test_a_handler_may_fork_processes_and_terminate_them(ended: Callable[..., Job]):
    assert ended("iso.terminate").result == -signal.SIGTERM


def test_a_hundred_jobs_leave_nothing_open_in_the_worker(start_worker: StartWorker):
    def descriptors() -> int:
        job = Job.objects.enqueue("iso.descriptors")
        wait_until(lambda: status_of(job) == "completed")
        return Job.objects.get(pk=job.pk).result

    start_worker(concurrency=1)
    Job.objects.enqueue("iso.effect")
    before = descriptors()
    Job.objects.enqueue_many([{"type": "iso.effect"}] * 100)
    wait_until(lambda: Effect.objects.count() == 101)
    assert descriptors() == before
    assert not JobAttempt.objects.exists()


# Memory.


def test_a_handler_may_take_memory_up_to_its_limit(ended: Callable[..., Job]):
    job = ended("iso.allocate", mib=48)
    assert (job.status, job.result) == ("completed", 48)


@pytest.mark.parametrize(("type", "payload"), [("iso.allocate", {"mib": 100}), ("iso.leak", {})])
def test_a_handler_past_its_memory_limit_fails_and_says_so(
    ended: Callable[..., Job], type: str, payload: dict[str, int]
):
    job = ended(type, **payload)
    assert (job.status, job.error) == (
        "failed",
        "MemoryLimitExceeded: exceeded memory_limit (67108864 bytes)",
    )
    assert "isolated.py" in job.attempts.get().traceback


# Time.


@pytest.mark.parametrize("type", ["iso.wait_in_c", "iso.wait_async"])
def test_a_timeout_interrupts_what_waits_and_lets_it_clean_up(ended: Callable[..., Job], type: str):
    job = ended(type)
    attempt = job.attempts.get()
    assert (attempt.outcome, attempt.message) == ("timed_out", "JobTimedOut: ran for more than 0.5 s")
    assert (attempt.ended_at - attempt.started_at).total_seconds() < 2
    assert effect_named("cleaned up")


@pytest.mark.parametrize("type", ["iso.never_yield", "iso.swallow"])
def test_a_timeout_kills_what_cannot_be_interrupted(ended: Callable[..., Job], type: str):
    attempt = ended(type).attempts.get()
    assert attempt.outcome == "timed_out"
    assert attempt.message == "JobTimedOut: ran for more than 0.5 s and was killed"


# News.


def test_a_cancel_request_reaches_the_process(start_worker: StartWorker):
    start_worker()
    job = Job.objects.enqueue("iso.until_cancelled")
    wait_until(lambda: effect_named("started"))
    Job.objects.cancel(job.pk)
    wait_until(lambda: status_of(job) == "cancelled")
    assert Job.objects.get(pk=job.pk).error == "Cancelled: as asked"


def test_the_loss_of_the_claim_reaches_the_process(start_worker: StartWorker):
    start_worker()
    job = Job.objects.enqueue("iso.until_lost")
    wait_until(lambda: effect_named("started"))
    Job.objects.release(job.pk, delay=600)
    wait_until(lambda: effect_named("saw the loss"))
    assert status_of(job) == "scheduled"


# Workers that end.


def test_the_first_signal_lets_the_process_finish(start_worker: StartWorker):
    worker = start_worker()
    job = Job.objects.enqueue("iso.effect", {"seconds": 1.0})
    wait_until(Effect.objects.exists)
    kill(worker, signal.SIGTERM)
    worker.join(20)
    assert (worker.exitcode, status_of(job)) == (0, "completed")


@pytest.mark.parametrize(("type", "mark"), [("iso.effect", "effect"), ("iso.never_yield", "started")])
def test_after_the_shutdown_timeout_the_process_is_killed_and_the_job_given_back(
    start_worker: StartWorker, type: str, mark: str
):
    worker = start_worker(shutdown_timeout=0.1)
    payload = {"seconds": 60} if type == "iso.effect" else {}
    job = Job.objects.enqueue(type, payload)
    effect = wait_until(lambda: effect_named(mark))
    kill(worker, signal.SIGTERM)
    worker.join(20)
    assert worker.exitcode == 1
    wait_until(lambda: not is_alive(effect.pid))
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count, job.attempts.count()) == ("pending", 0, 0)


@pytest.mark.parametrize(("type", "mark"), [("iso.effect", "effect"), ("iso.never_yield", "started")])
def test_the_process_of_a_killed_worker_dies_before_the_job_runs_again(
    start_worker: StartWorker, type: str, mark: str
):
    worker = start_worker()
    job = Job.objects.enqueue(type, {"seconds": 60} if type == "iso.effect" else {})
    effect = wait_until(lambda: effect_named(mark))
    assert is_alive(effect.pid)
    kill(worker)
    wait_until(lambda: not is_alive(effect.pid), timeout=QUICK["lease"] - 1)
    start_worker()
    wait_until(lambda: Effect.objects.filter(name=mark).count() == 2)
    assert JobAttempt.objects.get(job=job).outcome == "lost"


def test_a_worker_whose_fork_server_died_accounts_for_its_job_finishes_others_and_stops(
    start_worker: StartWorker,
):
    worker = start_worker()
    looked = Job.objects.enqueue("iso.look")
    wait_until(lambda: status_of(looked) == "completed")
    running = Job.objects.enqueue("iso.effect", {"seconds": 60}, max_retries=0)
    effect = wait_until(lambda: effect_named("effect"))
    other = Job.objects.enqueue("test.rest", {"seconds": 1.0})
    wait_until(lambda: status_of(other) == "running")
    os.kill(Job.objects.get(pk=looked.pk).result["fork_server"], signal.SIGKILL)
    wait_until(lambda: status_of(running) == "failed")
    assert "died with the fork server" in Job.objects.get(pk=running.pk).error
    wait_until(lambda: not is_alive(effect.pid))
    worker.join(20)
    assert worker.exitcode == 1
    assert status_of(other) == "completed"


@pytest.mark.parametrize("hang", [False, True])
def test_threads_and_atexit_functions_get_a_bounded_time_after_the_handler(ended, tmp_path: Path, hang: bool):
    assert ended("iso.leave_work", path=str(tmp_path), hang=hang).status == "completed"
    assert {path.name for path in tmp_path.iterdir()} == {"thread", "executor", "atexit"}


def test_what_the_worker_cleans_up_at_its_own_exit_outlives_the_jobs_process(start_worker: StartWorker):
    for _ in range(3):
        Job.objects.enqueue("iso.directory", max_retries=0)
    start_worker(drain=True, concurrency=1).join(30)
    assert list(Job.objects.values_list("result", flat=True)) == [True] * 3

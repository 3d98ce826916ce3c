"""Worker processes that are killed, stopped or frozen: no job is lost, and none runs more often than it may."""

from __future__ import annotations

import random
import signal
from collections import Counter

import pytest

from django_jobqueue.models import Job, JobAttempt
from tests.support.models import Effect
from tests.support.processes import Processes, kill, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

QUICK = {"lease": 1.0, "poll_interval": 0.05, "concurrency": 2}


def statuses() -> Counter[str]:
    return Counter(Job.objects.values_list("status", flat=True))


def test_a_job_whose_worker_is_killed_runs_again_elsewhere(processes: Processes):
    job = Job.objects.enqueue("test.effect", {"seconds": 30})
    first = processes.worker(**QUICK)
    wait_until(Effect.objects.exists)
    kill(first)
    processes.worker(**QUICK)
    wait_until(lambda: Effect.objects.count() == 2)
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count, job.fencing_token) == ("running", 1, 2)
    assert JobAttempt.objects.get(job=job).outcome == "lost"


def test_killed_twice_with_one_retry_a_job_ends_as_failed_after_two_runs(processes: Processes):
    job = Job.objects.enqueue("test.effect", {"seconds": 30}, max_retries=1)
    for run in (1, 2):
        worker = processes.worker(**QUICK)
        wait_until(lambda run=run: Effect.objects.count() == run)
        kill(worker)
    processes.worker(**QUICK)
    wait_until(lambda: Job.objects.get(pk=job.pk).status == "failed")
    job = Job.objects.get(pk=job.pk)
    assert (job.retry_count, Effect.objects.count()) == (1, 2)
    assert list(job.attempts.values_list("outcome", flat=True)) == ["lost", "lost"]


def test_a_handler_that_kills_its_worker_counts_an_attempt_and_kills_no_other_worker(processes: Processes):
    job = Job.objects.enqueue("test.crash", max_retries=1)
    worker = processes.worker(**QUICK)
    worker.join(20)
    assert worker.exitcode == -signal.SIGKILL
    other = processes.worker(**QUICK)
    wait_until(lambda: Job.objects.get(pk=job.pk).status == "failed")
    assert list(job.attempts.order_by("number").values_list("outcome", flat=True)) == ["lost", "failed"]
    assert other.is_alive()


def test_a_worker_frozen_past_its_lease_cannot_write_its_late_end(processes: Processes):
    job = Job.objects.enqueue("test.lasting_rerun", {"seconds": 0.5}, max_retries=3)
    frozen = processes.worker(**QUICK)
    wait_until(Effect.objects.exists)
    kill(frozen, signal.SIGSTOP)
    processes.worker(**QUICK)
    wait_until(lambda: Effect.objects.count() == 2)  # the second run goes on until it is told
    columns = ("status", "worker_id", "fencing_token", "retry_count")
    before = Job.objects.filter(pk=job.pk).values(*columns).get()
    assert (before["status"], before["fencing_token"], before["retry_count"]) == ("running", 2, 1)
    kill(frozen, signal.SIGCONT)
    kill(frozen, signal.SIGTERM)
    frozen.join(20)
    assert frozen.exitcode == 0
    assert Job.objects.filter(pk=job.pk).values(*columns).get() == before
    Effect.objects.create(name="go")
    wait_until(lambda: statuses() == {"completed": 1})


def test_sigterm_lets_the_running_job_finish_and_gives_back_what_has_not_started(processes: Processes):
    worker = processes.worker(**QUICK)
    first = Job.objects.enqueue("test.effect", {"seconds": 0.5})
    wait_until(Effect.objects.exists)
    kill(worker, signal.SIGTERM)
    waiting = Job.objects.enqueue("test.noop")
    worker.join(20)
    assert worker.exitcode == 0
    assert Job.objects.get(pk=first.pk).status == "completed"
    waiting = Job.objects.get(pk=waiting.pk)
    assert (waiting.status, waiting.retry_count) == ("pending", 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_worker_stops_at_once_on_a_signal(processes: Processes, number: signal.Signals):
    worker = processes.worker(**QUICK, max_jobs=2)
    Job.objects.enqueue("test.effect")
    wait_until(lambda: statuses()["completed"] == 1)
    kill(worker, number)
    worker.join(5)
    assert worker.exitcode == 0


def test_the_second_signal_gives_running_jobs_back_and_exits_non_zero(processes: Processes):
    worker = processes.worker(**QUICK, shutdown_timeout=60)
    job = Job.objects.enqueue("test.effect", {"seconds": 60})
    wait_until(Effect.objects.exists)
    # Signals sent too close together are one signal to the process, so this sends until it is gone.
    wait_until(lambda: kill(worker, signal.SIGTERM) or not worker.is_alive(), interval=0.2)
    assert worker.exitcode == 1
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count, job.attempts.count()) == ("pending", 0, 0)


def test_after_the_shutdown_timeout_running_jobs_are_given_back(processes: Processes):
    worker = processes.worker(**QUICK, shutdown_timeout=0.2)
    job = Job.objects.enqueue("test.effect", {"seconds": 60})
    wait_until(Effect.objects.exists)
    kill(worker, signal.SIGTERM)
    worker.join(10)
    assert worker.exitcode == 1
    assert Job.objects.get(pk=job.pk).status == "pending"


def test_sigterm_fifty_times_at_random_moments_leaves_no_job_running_and_loses_none(processes: Processes):
    random.seed(50)
    enqueued = 0
    for _ in range(50):
        Job.objects.enqueue_many([{"type": "test.effect", "payload": {"seconds": 0.01}}] * 10)
        enqueued += 10
        worker = processes.worker(**QUICK)
        worker.join(random.uniform(0.0, 0.25))
        kill(worker, signal.SIGTERM)
        worker.join(20)
        assert worker.exitcode in (0, -signal.SIGTERM)  # the latter before the worker had begun
        assert statuses()["running"] == 0
    assert processes.worker(**QUICK, drain=True).join(30) is None
    assert statuses() == {"completed": enqueued}
    runs = Counter(Effect.objects.values_list("job", flat=True))
    assert set(runs.values()) == {1}


def test_a_dead_child_is_replaced_and_its_job_runs_again(processes: Processes):
    jobs = [Job.objects.enqueue("test.effect", {"seconds": 0.3}) for _ in range(6)]
    Job.objects.enqueue("test.crash", max_retries=0, priority="high")
    supervisor = processes.worker(**QUICK, processes=2)
    wait_until(lambda: statuses() == {"completed": len(jobs), "failed": 1})
    kill(supervisor, signal.SIGTERM)
    supervisor.join(20)
    assert supervisor.exitcode == 0


def test_a_supervisor_ends_with_zero_when_its_children_have_drained_the_queue(processes: Processes):
    Job.objects.enqueue_many([{"type": "test.noop"}] * 50)
    supervisor = processes.worker(**QUICK, processes=2, drain=True)
    supervisor.join(30)
    assert supervisor.exitcode == 0
    assert statuses() == {"completed": 50}

"""What nobody expects to be raised inside a worker: claims are given back, and it ends in order or goes on."""

from __future__ import annotations

import ctypes
import threading

import pytest

from django_jobqueue.models import Job
from django_jobqueue.workers.acks import Acks
from django_jobqueue.workers.leases import Leases
from django_jobqueue.workers.listener import Listener
from django_jobqueue.workers.upkeep import Upkeep
from tests.support.models import Effect
from tests.support.processes import wait_until
from tests.support.workers import running, worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("error", [RuntimeError("bug"), SystemExit(0), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize(
    ("part", "verb"), [(Listener, "attend"), (Upkeep, "run"), (Leases, "renew"), (Acks, "flush_others")]
)
def test_whatever_a_step_raises_the_claims_are_given_back_and_the_worker_ends(
    monkeypatch, caplog, part, verb, error
):
    real = getattr(part, verb)

    def fail(*arguments):
        if Effect.objects.exists():
            raise error
        return real(*arguments)

    monkeypatch.setattr(part, verb, fail)
    jobs = [Job.objects.enqueue("test.effect", {"seconds": 0.5}).pk for _ in range(5)]
    assert worker(concurrency=2, lease_seconds=1.0).run() == 1
    assert set(Job.objects.filter(pk__in=jobs).values_list("status", "retry_count")) <= {
        ("pending", 0),
        ("completed", 0),
    }
    assert type(error).__name__ in caplog.text
    assert "Traceback" in caplog.text
    wait_until(lambda: not [each for each in threading.enumerate() if each.name.startswith("jobqueue-")])


def raise_in(thread: threading.Thread) -> None:
    """What libraries for timeouts do, and may do too late: the thread runs no handler any more."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


def test_a_thread_that_dies_is_replaced_and_its_job_is_a_recorded_failure(caplog):
    with running(concurrency=1):
        Job.objects.enqueue("test.noop", queue="first")
        wait_until(lambda: Job.objects.filter(status="completed").count() == 1)
        (thread,) = [each for each in threading.enumerate() if each.name == "jobqueue-0"]
        raise_in(thread)  # seen when the thread has its next job
        job = Job.objects.enqueue("test.noop", max_retries=1)
        others = [Job.objects.enqueue("test.noop").pk for _ in range(3)]
        wait_until(lambda: Job.objects.filter(status="completed").count() == 2 + len(others))
    assert [attempt.outcome for attempt in Job.objects.get(pk=job.pk).attempts.all()] == ["failed"]
    assert "died" in caplog.text

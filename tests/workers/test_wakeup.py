"""How an idle worker learns of work, and that nothing depends on it."""

from __future__ import annotations

import time
from contextlib import nullcontext

import pytest
from django.db import OperationalError, connection, transaction

from django_jobqueue.models import Job
from django_jobqueue.vendors import vendor_for
from django_jobqueue.workers import loop
from django_jobqueue.workers.wakeup import Pause
from tests.support.processes import wait_until
from tests.support.workers import running

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def no_poll(monkeypatch):
    """The next look of an idle worker is further away than any test waits."""
    monkeypatch.setattr(loop, "_SHORTEST_POLL", 300.0)


FAR = {"poll_interval": 300.0}


def completed(job: Job) -> bool:
    return Job.objects.get(pk=job.pk).status == "completed"


def settle() -> None:
    """Run one job to its end."""
    job = Job.objects.enqueue("test.noop")
    wait_until(lambda: completed(job))


def test_a_failed_job_is_retried_without_waiting_for_a_poll(no_poll):
    job = Job.objects.enqueue("test.fail", max_retries=2)
    with running(**FAR):
        wait_until(lambda: Job.objects.get(pk=job.pk).status == "failed")


def test_polling_alone_finds_new_jobs(settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "WAKEUP": "poll"}
    with running(poll_interval=0.2):
        settle()
        settle()


def test_jobs_that_nobody_is_told_of_are_found_by_polling():
    with running(poll_interval=0.2):
        settle()
        jobs = [Job.objects.enqueue("test.noop") for _ in range(3)]  # told at most once in the interval
        wait_until(lambda: all(completed(job) for job in jobs))


if vendor_for(connection).notifies:

    def test_a_commit_wakes_an_idle_worker(no_poll):
        Job.objects.enqueue("test.noop", queue="first")
        with running(**FAR):
            wait_until(lambda: not Job.objects.exclude(status="completed").exists())
            job = Job.objects.enqueue("test.noop", queue="second")
            wait_until(lambda: completed(job))

    def test_a_worker_is_not_woken_for_queues_that_it_does_not_serve(no_poll):
        with running(**FAR, exclude_queues=("other",)):
            wait_until(lambda: listeners() == 1)
            other = Job.objects.enqueue("test.noop", queue="other")
            settle()
        assert Job.objects.get(pk=other.pk).status == "pending"

    def test_nothing_is_told_before_the_commit_and_nothing_after_a_rollback():
        told: list[str] = []

        def record(execute, sql, params, many, context):
            if "pg_notify" in sql:
                told.append(params[1])
            return execute(sql, params, many, context)

        with connection.execute_wrapper(record):
            with transaction.atomic():
                Job.objects.enqueue("test.noop", queue="told")
                assert told == []
            assert told == ["told"]
            with pytest.raises(RuntimeError), transaction.atomic():
                Job.objects.enqueue("test.noop", queue="untold")
                raise RuntimeError
        assert told == ["told"]

    @pytest.mark.parametrize("in_transaction", [True, False])
    @pytest.mark.parametrize("add", ["one", "many"])
    def test_a_notification_that_fails_after_the_commit_never_reaches_the_enqueuer(in_transaction, add):
        def refuse(execute, sql, params, many, context):
            if "pg_notify" in sql:
                refused.append(params[1])
                raise OperationalError("the line was cut")
            return execute(sql, params, many, context)

        refused: list[str] = []
        queue = f"cut {add} {in_transaction}"  # a queue of its own: no notification is held back
        later: list[str] = []
        with connection.execute_wrapper(refuse), transaction.atomic() if in_transaction else nullcontext():
            if add == "one":
                Job.objects.enqueue("test.noop", queue=queue)
            else:
                Job.objects.enqueue_many([{"type": "test.noop", "queue": queue}] * 3)
            transaction.on_commit(lambda: later.append(queue))
        assert (refused, later) == ([queue], [queue])
        assert Job.objects.filter(queue=queue).count() == (1 if add == "one" else 3)

    def test_a_process_tells_of_a_queue_at_most_once_in_the_interval():
        told: list[str] = []

        def record(execute, sql, params, many, context):
            told.extend([params[1]] if "pg_notify" in sql else [])
            return execute(sql, params, many, context)

        began = time.monotonic()
        with connection.execute_wrapper(record):
            for _ in range(50):
                Job.objects.enqueue("test.noop", queue="busy")
        assert 1 <= len(told) <= 1 + (time.monotonic() - began) / 0.02

    def listeners() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            return cursor.fetchone()[0]

    def test_a_cut_connection_is_noticed_while_idle_and_listening_goes_on(no_poll):
        Job.objects.enqueue("test.noop", queue="first")
        with running(**FAR):
            wait_until(lambda: not Job.objects.exclude(status="completed").exists())
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            job = Job.objects.enqueue("test.noop", queue="second")
            wait_until(lambda: completed(job))


def test_a_pause_is_short_for_the_steady_time_then_grows_to_the_longest_and_starts_again_after_a_reset():
    pause = Pause(0.0025, 1.0, steady=0.02)
    waits = [pause.grow() for _ in range(40)]
    steady = [wait for wait in waits if wait < 0.0028]
    assert len(steady) == 8 and waits[:8] == steady
    assert 0.9 <= waits[-1] <= 1.1
    pause.reset()
    assert pause.grow() < 0.0028

"""The worker's rounds, in this process."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from django_jobqueue import signals
from django_jobqueue.models import Job
from django_jobqueue.workers.acks import Acks
from tests.support.models import Effect
from tests.support.processes import Processes, wait_until
from tests.support.workers import drain, running

pytestmark = pytest.mark.django_db(transaction=True)


def test_jobs_start_by_priority_and_then_by_age():
    for name, priority in [("a", 0), ("b", 10), ("c", -5), ("d", 10), ("e", 0)]:
        Job.objects.enqueue("test.effect", {"name": name}, priority=priority)
    drain(concurrency=1)
    assert list(Effect.objects.order_by("pk").values_list("name", flat=True)) == ["b", "d", "a", "e", "c"]


def test_a_queue_that_filled_the_last_claim_does_not_hide_another_from_a_draining_worker():
    Job.objects.enqueue_many([{"type": "test.noop", "queue": "first", "priority": "high"}] * 2)
    Job.objects.enqueue_many([{"type": "test.noop", "queue": "second"}] * 3)
    assert drain(concurrency=2) == {"completed": 5}


def test_a_queue_that_filled_the_last_claim_does_not_hide_another_from_an_idle_worker():
    Job.objects.enqueue_many([{"type": "test.noop", "queue": "first", "priority": "high"}] * 2)
    Job.objects.enqueue_many([{"type": "test.noop", "queue": "second"}] * 3)
    with running(concurrency=2):
        wait_until(lambda: Job.objects.filter(status="completed").count() == 5, timeout=10)


def test_no_queue_is_forgotten_while_looks_at_their_heads_are_slow(monkeypatch):
    monkeypatch.setattr("django_jobqueue.workers.cursor._SLOW", -1.0)
    monkeypatch.setattr("django_jobqueue.workers.cursor._SLOW_A_ROW", 0.0)
    with running():
        for queue in ("first", "first", "second", "first", "third", "second"):
            job = Job.objects.enqueue("test.noop", queue=queue)
            wait_until(lambda job=job: Job.objects.get(pk=job.pk).status == "completed")


def test_a_database_that_fails_between_two_answers_costs_no_claimed_job_its_run(monkeypatch):
    """An end is refused, as its job was deleted, and the look why fails: the claims that came along run."""
    look, failures = Acks._already_completed, iter([OperationalError("gone for a moment")])

    def fail_once(acks, jobs, **options):
        for failure in failures:
            raise failure
        return look(acks, jobs, **options)

    monkeypatch.setattr(Acks, "_already_completed", fail_once)
    Job.objects.enqueue("test.delete_itself")
    others = [Job.objects.enqueue("test.noop") for _ in range(3)]
    assert drain(concurrency=1, prefetch=0) == {"lost": 1, "completed": len(others)}
    assert set(Job.objects.values_list("retry_count", "status")) == {(0, "completed")}


def test_a_long_job_keeps_its_claim_by_renewal():
    job = Job.objects.enqueue("test.effect", {"seconds": 1.5})
    drain(lease_seconds=1.0)
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count, job.fencing_token) == ("completed", 0, 1)


def test_a_heartbeat_of_the_handler_keeps_the_workers_lease():
    job = Job.objects.enqueue("test.progress", {"seconds": 2})
    with running(lease_seconds=500.0):
        wait_until(lambda: Job.objects.get(pk=job.pk).progress == {"done": 1})
        job = Job.objects.get(pk=job.pk)
        assert 490 < (job.lease_expires_at - job.updated_at).total_seconds() <= 501


def test_a_running_job_sees_a_cancel_request_and_ends_as_cancelled():
    job = Job.objects.enqueue("test.until_cancelled")
    with running(lease_seconds=1.0):
        wait_until(Effect.objects.exists)
        Job.objects.cancel(job.pk)
        wait_until(lambda: Job.objects.get(pk=job.pk).status == "cancelled")
    assert Job.objects.get(pk=job.pk).attempts.get().outcome == "cancelled"


def test_a_worker_promotes_and_reaps_while_it_is_busy(settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "REAP_INTERVAL": 0.5, "PROMOTE_INTERVAL": 0.1}
    Job.objects.enqueue("test.rest", {"seconds": 3})
    with running(concurrency=1, queues=("default",)):
        wait_until(lambda: Job.objects.filter(queue="default", status="running").count() == 1)
        lost = Job.objects.enqueue("test.noop", queue="other")
        Job.objects.claim(worker_id="gone", queues=["other"], lease_seconds=0.001)
        scheduled = Job.objects.enqueue("test.noop", queue="other", run_at=timedelta(seconds=0.2))
        wait_until(lambda: Job.objects.get(pk=lost.pk).status == "pending")
        wait_until(lambda: Job.objects.get(pk=scheduled.pk).status == "pending")
        assert Job.objects.filter(queue="default", status="running").count() == 1


def test_a_receiver_that_raises_harms_no_job():
    def receiver(**_: object) -> None:
        raise RuntimeError("receiver")

    for signal in (signals.job_enqueued, signals.job_started, signals.job_finished):
        signal.connect(receiver)
    try:
        job = Job.objects.enqueue("test.noop")
        drain()
    finally:
        for signal in (signals.job_enqueued, signals.job_started, signals.job_finished):
            signal.disconnect(receiver)
    assert Job.objects.get(pk=job.pk).status == "completed"


def test_signals_tell_a_jobs_life_in_order():
    told: list[tuple[str, object]] = []

    def note(signal: object, **arguments: object) -> None:
        names = {id(signals.job_enqueued): "enqueued", id(signals.job_started): "started"}
        told.append((names.get(id(signal), "finished"), arguments.get("outcome")))

    for signal in (signals.job_enqueued, signals.job_started, signals.job_finished):
        signal.connect(note)
    try:
        Job.objects.enqueue("test.fail", max_retries=1)
        drain()
    finally:
        for signal in (signals.job_enqueued, signals.job_started, signals.job_finished):
            signal.disconnect(note)
    assert told[:2] == [("enqueued", None), ("started", None)]
    # The end is told in a thread of its own, so the next attempt may have started by then.
    assert [outcome for name, outcome in told if name == "finished"] == ["retried", "failed"]
    assert [name for name, _ in told].count("started") == 2
    assert told[-1] == ("finished", "failed")


def test_async_jobs_run_at_once():
    Job.objects.enqueue_many([{"type": "test.async_meet", "payload": {"number": 4}}] * 4)
    drain(concurrency=4)
    assert set(Job.objects.values_list("status", flat=True)) == {"completed"}


def test_the_log_names_no_payload_and_no_error_text(caplog):
    Job.objects.enqueue("test.fail", {"message": "card 4111"}, max_retries=0, idempotency_key="k-4111")
    drain()
    assert "failed" in caplog.text
    assert "4111" not in caplog.text


def test_threads_end_with_the_worker():
    Job.objects.enqueue("test.async_effect")
    drain()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("jobqueue-")]


if connection.settings_dict["ENGINE"].endswith("postgresql"):

    def test_a_worker_holds_one_connection_and_one_a_thread(processes: Processes):
        Job.objects.enqueue_many([{"type": "test.effect", "payload": {"seconds": 0.02}}] * 40)
        processes.worker(concurrency=3, poll_interval=0.05)
        most = 0

        def done() -> bool:
            nonlocal most
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(*) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                most = max(most, cursor.fetchone()[0])
            return Job.objects.filter(status="completed").count() == 40

        wait_until(done)
        assert most == 4

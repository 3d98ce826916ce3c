"""The threads and connections of async jobs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from django_jobqueue.models import Job
from django_jobqueue.workers import async_threads, connections
from tests.support.async_jobs import LEFT_OPEN
from tests.support.models import Effect
from tests.support.processes import wait_until
from tests.support.workers import drain, running, worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("how", sorted(LEFT_OPEN))
def test_an_async_handler_that_leaves_a_transaction_open_fails_as_a_sync_one(how: str):
    bad = Job.objects.enqueue("loop.leave_open", {"how": how})
    after = Job.objects.enqueue_many([{"type": "loop.effect"}] * 3)
    drain(async_concurrency=1)
    bad = Job.objects.get(pk=bad.pk)
    assert bad.status == "failed"
    assert "transaction open" in bad.error
    assert set(Effect.objects.values_list("job", flat=True)) == {job.id for job in after}


def test_a_call_that_blocks_holds_up_no_other_async_job_nor_its_timeout(tmp_path: Path):
    with running() as started:
        blocked = Job.objects.enqueue("loop.block", {"folder": str(tmp_path)})
        wait_until(lambda: Job.objects.get(pk=blocked.pk).status == "running")
        good = Job.objects.enqueue_many([{"type": "loop.effect"}] * 20)
        late = Job.objects.enqueue("loop.effect", {"seconds": 60})
        ids = [job.id for job in good]
        wait_until(lambda: Job.objects.filter(pk__in=ids, status="completed").count() == 20, timeout=30)
        wait_until(lambda: Job.objects.get(pk=late.pk).status == "failed", timeout=30)
        assert started._leases.jobs()[0].id == blocked.pk  # its call goes on, so nobody else may run it
        (tmp_path / "go").touch()
        wait_until(lambda: Job.objects.get(pk=blocked.pk).status == "failed", timeout=30)
    assert Job.objects.get(pk=blocked.pk).attempts.get().outcome == "timed_out"


def test_jobs_that_wait_for_a_lock_do_not_keep_its_holder_from_releasing_it():
    Job.objects.enqueue_many([{"type": "loop.lock"}] * 4)
    assert drain(async_concurrency=4) == {"completed": 4}


def test_threads_are_used_again_and_end_with_the_worker(monkeypatch):
    seen = set()
    monkeypatch.setattr(connections, "prepare", lambda: seen.add(threading.get_ident()))
    before = set(threading.enumerate())
    Job.objects.enqueue_many([{"type": "loop.effect"}] * 10)
    assert drain(async_concurrency=1, concurrency=1) == {"completed": 10}
    assert len(seen) <= 2  # the thread of the pool, which runs none of them, and one of the loop
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread not in before])


def test_connections_of_a_burst_are_closed_after_it(monkeypatch):
    monkeypatch.setattr(async_threads, "_SPARE", 1)
    before = set(threading.enumerate())

    def threads() -> list[threading.Thread]:
        found = [thread for thread in threading.enumerate() if thread not in before]
        return [thread for thread in found if thread.name.startswith("ThreadPoolExecutor")]

    with running(concurrency=20):
        Job.objects.enqueue_many([{"type": "loop.effect", "payload": {"seconds": 0.3}}] * 8)
        wait_until(lambda: Job.objects.filter(status="completed").count() == 8, timeout=30)
        wait_until(lambda: len(threads()) == 1)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_before_or_after_the_handler_counts_no_failure(monkeypatch, when: str, tmp_path: Path):
    """The job began in no handler, or its handler has succeeded, when its worker has to stop."""
    reached, go = threading.Event(), threading.Event()
    original = connections.leave_clean if when == "after" else connections.prepare

    def slow():
        reached.set()
        go.wait(30)
        return original()

    stopping = worker(shutdown_timeout=0.0)
    thread = threading.Thread(target=stopping.run)
    Job.objects.enqueue("loop.effect")
    thread.start()
    try:
        wait_until(lambda: Job.objects.filter(status="completed").count() == 1)
        monkeypatch.setattr(connections, "leave_clean" if when == "after" else "prepare", slow)
        job = Job.objects.enqueue("loop.effect", {"seconds": 0})
        assert reached.wait(30)
        stopping.shutdown.request()
        stopping.shutdown.request()
        thread.join(30)
    finally:
        go.set()
        if thread.is_alive():
            stopping.shutdown.request()
            thread.join(30)
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count, job.attempts.count()) == ("pending", 0, 0)

"""What an async handler does to the event loop harms no other job."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from django_jobqueue.models import Job
from django_jobqueue.outbox import enqueue_webhook
from django_jobqueue.workers.async_pool import AsyncPool
from tests.support.async_jobs import ENDS_THE_JOB, HARMLESS, break_selector
from tests.support.processes import wait_until
from tests.support.workers import drain, running, worker

pytestmark = pytest.mark.django_db(transaction=True)


def statuses() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for type, status in Job.objects.order_by("pk").values_list("type", "status"):
        found.setdefault(type, []).append(status)
    return found


@pytest.mark.parametrize("how", [*ENDS_THE_JOB, *HARMLESS])
def test_what_ends_a_loop_ends_no_job_of_others(how: str):
    with running(shutdown_timeout=2.0):
        beside = Job.objects.enqueue("loop.wait", {"seconds": 0.3})
        late = Job.objects.enqueue("loop.wait", {"seconds": 60})
        bad = Job.objects.enqueue("loop.misuse", {"how": how})
        wait_until(lambda: not Job.objects.filter(status__in=["pending", "running"]).exists(), timeout=30)
        after = Job.objects.enqueue("loop.wait", {"seconds": 0})
        wait_until(lambda: Job.objects.get(pk=after.pk).status == "completed", timeout=30)
    assert Job.objects.get(pk=beside.pk).status == "completed"
    assert Job.objects.get(pk=late.pk).attempts.get().outcome == "timed_out"
    bad = Job.objects.get(pk=bad.pk)
    if how in HARMLESS:
        assert bad.status == "completed"
    else:
        assert bad.status == "failed"
        assert bad.attempts.get().exception_class in ("builtins.SystemExit", "builtins.KeyboardInterrupt")


class _Refusing(asyncio.SelectorEventLoop):
    """As uvloop on Python 3.13.0, which does not know what an eager task is."""

    def create_task(self, coro: Any, **options: Any) -> Any:
        if coro.__qualname__.startswith("AsyncPool"):
            raise TypeError("task_factory() got an unexpected keyword argument")
        return super().create_task(coro, **options)


class _Late(asyncio.SelectorEventLoop):
    """Raises when it has begun the task."""

    def create_task(self, coro: Any, **options: Any) -> Any:
        coro.send(None)
        raise RuntimeError("too late")


@pytest.mark.parametrize("loop", [_Refusing, _Late])
def test_a_job_that_the_loop_refuses_fails_and_is_not_lost(monkeypatch, loop):
    monkeypatch.setattr(asyncio, "new_event_loop", loop)
    Job.objects.enqueue_many([{"type": "loop.wait", "payload": {"seconds": 0.1}, "max_retries": 0}] * 3)
    assert drain() == {"failed": 3}


def test_a_worker_whose_loop_dies_gives_its_jobs_back_and_ends_with_a_code():
    Job.objects.enqueue("loop.wait", {"seconds": 0.4})
    Job.objects.enqueue("loop.break")
    broken = worker(async_concurrency=2, poll_interval=0.01)
    Job.objects.enqueue("test.effect")
    waiting = Job.objects.enqueue("loop.wait", {"seconds": 0})
    assert broken.run() == 1
    assert not Job.objects.filter(status="running").exists()
    assert not Job.objects.exclude(attempts=None).exists()
    assert "event loop" in Job.objects.get(type="loop.break").error
    assert Job.objects.get(pk=waiting.pk).status != "running"


def test_what_is_handed_to_a_dead_loop_comes_back():
    reports: list[Any] = []
    pool = AsyncPool(2, lambda job, outcome: reports.append((job, outcome)))
    pool._start()
    assert pool._loop is not None
    pool._loop.call_soon_threadsafe(break_selector, pool._loop)
    wait_until(lambda: pool.broken and not pool._thread.is_alive())

    class Claimed:
        id, fencing_token, worker_id = 1, 1, "w"

    pool.submit([Claimed()])  # type: ignore[list-item]
    assert len(reports) == 1
    pool.interrupt_all()
    pool.distrust_connections()
    pool.stop(1.0)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_worker_without_async_places_gives_async_jobs_back_and_goes_on(concurrency: int):
    """The outbox has async handlers in every project."""
    hook = enqueue_webhook("https://receiver.example/hook", {}, secret=None)
    Job.objects.enqueue_many([{"type": "loop.wait", "payload": {"seconds": 0}}] * 5)
    given_back = Job.objects.filter(error__contains="--async-concurrency 0")
    with running(async_concurrency=0, concurrency=concurrency):
        wait_until(lambda: given_back.count() == 6, timeout=30)
        Job.objects.enqueue_many([{"type": "test.noop"}] * 20)
        wait_until(lambda: Job.objects.filter(status="completed").count() == 20, timeout=30)
    assert Job.objects.get(pk=hook.pk).retry_count == 0


def test_a_draining_worker_without_async_places_ends():
    Job.objects.enqueue_many([{"type": "loop.wait", "payload": {"seconds": 0}}, {"type": "test.noop"}])
    assert drain(async_concurrency=0) == {"released": 1, "completed": 1}


def test_a_job_that_is_cancelled_before_its_first_step_runs_later():
    Job.objects.enqueue_many(
        [{"type": "loop.cancel_all"}] + [{"type": "loop.wait", "payload": {"seconds": 0}}] * 5
    )
    with running():
        wait_until(lambda: Job.objects.filter(status="completed").count() == 6)

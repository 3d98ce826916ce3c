"""The tasks of these tests. What one does for others to see it writes into ``Effect``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from typing import Any

from django_jobqueue import Cancelled, PermanentFailure, RetryLater, Snooze, constant, tasks
from django_jobqueue.tasks import task as job_task
from tests.support.jobs import UnreadableError
from tests.tasks_backend.framework import task


@task
def noop(*args: Any, **kwargs: Any) -> None:
    pass


@task()
async def noop_async(*args: Any, **kwargs: Any) -> None:
    pass


@task
def echo(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return {"args": list(args), "kwargs": kwargs}


@task
def meaning_of_life() -> int:
    return 42


@task
async def meaning_of_life_async() -> int:
    await asyncio.sleep(0)
    return 42


@job_task(max_retries=0)
def fail(message: str = "boom") -> None:
    raise ValueError(message)


@job_task(max_retries=0)
async def fail_async(message: str = "boom") -> None:
    raise ValueError(message)


@job_task(max_retries=0)
def fail_in_a_complex_way() -> None:
    raise ValueError(ValueError("This task failed"))


@job_task(max_retries=2)
def fail_always() -> None:
    raise ValueError("again and again")


def _ends() -> dict[str, Any]:
    def interrupt() -> None:
        raise KeyboardInterrupt("by the task")

    def unreadable() -> None:
        raise UnreadableError

    return {
        "SystemExit": lambda: sys.exit("by the task"),
        "KeyboardInterrupt": interrupt,
        "Unreadable": unreadable,
    }


@job_task(max_retries=0)
def end(how: str) -> None:
    _ends()[how]()


@job_task(max_retries=0)
async def end_async(how: str) -> None:
    _ends()[how]()


@job_task(max_retries=3)
def give(kind: str) -> Any:
    record("gave")
    return {
        "set": {1},
        "nan": float("nan"),
        "nul": "a\0",
        "surrogate": "\ud800",
        "keys": {1: 2},
        "object": object(),
    }[kind]


@job_task(takes_context=True, max_retries=3)
def succeed_at(context: Any, attempt: int) -> dict[str, Any]:
    if context.attempt < attempt:
        raise ValueError(f"attempt {context.attempt}")
    return seen(context)


@job_task(takes_context=True, max_retries=3)
async def succeed_at_async(context: Any, attempt: int) -> dict[str, Any]:
    if context.attempt < attempt:
        raise ValueError(f"attempt {context.attempt}")
    return seen(context)


def seen(context: Any) -> dict[str, Any]:
    """The context as JSON."""
    result = context.task_result
    return {
        "attempt": context.attempt,
        "id": result.id,
        "status": str(result.status),
        "args": result.args,
        "worker_ids": result.worker_ids,
        "errors": [error.exception_class_path for error in result.errors],
        "enqueued_at": result.enqueued_at.isoformat(),
        "ordered": result.enqueued_at <= result.started_at <= result.last_attempted_at,
        "job": context.job.id,
    }


@task(takes_context=True)
def progress(context: Any) -> None:
    context.job.heartbeat(progress={"done": 1})


@job_task(max_retries=1)
def choose_end(how: str) -> None:
    raise {
        "permanent": PermanentFailure("never again"),
        "later": RetryLater(600),
        "snooze": Snooze(600),
        "cancelled": Cancelled("enough"),
    }[how]


@job_task(timeout=0.2, max_retries=0)
def too_long() -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        time.sleep(0.01)


@job_task(timeout=0.2, max_retries=0)
async def too_long_async() -> None:
    await asyncio.sleep(20)


@job_task(max_retries=3, backoff=constant(600))
def slow_to_retry() -> None:
    raise ValueError("later")


def ten_minutes(retry: int) -> float:
    return 600.0 * retry


@job_task(max_retries=3, backoff=ten_minutes)
def slow_by_function() -> None:
    raise ValueError("later")


@job_task(idempotency_key=lambda order, **_: f"order-{order}")
def charge(order: int, amount: int = 1) -> int:
    return amount


@job_task(idempotency_key=lambda order: None if order is None else f"maybe-{order}")
def charge_maybe(order: int | None) -> None:
    pass


@task(queue_name="mail", priority=10)
def send_mail() -> None:
    pass


def record(name: str) -> None:
    from tests.support.models import Effect

    Effect.objects.create(name=name, pid=os.getpid())


@task
def effect(name: str = "effect", seconds: float = 0.0) -> str:
    record(name)
    time.sleep(seconds)
    return name


@job_task(takes_context=True, max_retries=1)
def die_once(context: Any) -> str:
    record(f"attempt {context.attempt}")
    if context.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


def not_a_task() -> None:
    record("called")


@task
def _hidden() -> None:
    pass


other_name = _hidden  # leads to the task all the same: its path is that of its function
undecorated = task(not_a_task)
many = tasks.enqueue_many

"""What a worker calls for a job that is a task."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from django_jobqueue.tasks.attempt import Attempt, Plan
from django_jobqueue.tasks.results import read_attempts

if TYPE_CHECKING:
    from django_jobqueue.models import JobAttempt

_SLACK = 0.1
"""Seconds by which the worker's clock of the timeout may be ahead of the one here."""


def run(plan: Plan, job: Any, *, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Run the task and return its value as JSON; raises what it raises."""
    attempt = Attempt(plan, job, args, kwargs, _earlier(job))
    attempt.send(attempt.framework.task_started)
    try:
        if (
            plan.options.atomic
        ):  # in here, so that no receiver is in the transaction, nor hears of it too early
            with job.complete_in_transaction() as completion:
                completion.result = attempt.succeed(plan.task.call(*attempt.positional, **kwargs))
            value = None
        else:
            value = attempt.succeed(plan.task.call(*attempt.positional, **kwargs))
    except BaseException as error:
        attempt.fail(error)
        attempt.send(attempt.framework.task_finished)  # in here, so that receivers see the exception
        raise
    attempt.send(attempt.framework.task_finished)
    return value


async def run_async(plan: Plan, job: Any, *, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """``run`` for an async task, on the worker's event loop."""
    late_at = time.monotonic() + (plan.options.timeout or math.inf) - _SLACK
    earlier = await sync_to_async(_earlier)(job) if job.fencing_token > 1 else ()
    attempt = Attempt(plan, job, args, kwargs, earlier)
    try:
        # In here, because who is cancelled meanwhile has started.
        await _to_its_end(attempt.asend(attempt.framework.task_started))
        value = attempt.succeed(await plan.task.acall(*attempt.positional, **kwargs))
    except BaseException as error:
        attempt.fail(_why_cancelled(error, late=time.monotonic() >= late_at))
        await attempt.asend(attempt.framework.task_finished)
        raise
    await attempt.asend(attempt.framework.task_finished)
    return value


async def _to_its_end(coroutine: Coroutine[Any, Any, None]) -> None:
    """Await ``coroutine``; a cancellation that comes meanwhile is raised when it is over."""
    task = asyncio.ensure_future(coroutine)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


def _why_cancelled(error: BaseException, *, late: bool) -> BaseException:
    """What the worker will make of ``error``: a cancellation by itself is a timeout or an interruption."""
    from django_jobqueue.workers.execute import JobInterrupted, JobTimedOut

    current = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and current is not None and current.cancelling():
        return JobTimedOut() if late else JobInterrupted()
    return error


def _earlier(job: Any) -> Sequence[JobAttempt]:
    return read_attempts(job.id) if job.fencing_token > 1 else ()

"""A claimed job that is a task: how its handler is found, and one run of it."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.utils import timezone
from django.utils.module_loading import import_string

from django_jobqueue import signals
from django_jobqueue.backend import JobQueueBackend
from django_jobqueue.exceptions import PermanentFailure
from django_jobqueue.registry import Handler
from django_jobqueue.tasks.framework import Framework, framework_of
from django_jobqueue.tasks.options import Options, settle
from django_jobqueue.tasks.results import NOTES, as_enqueued, errors, find_task, read_attempts, status

if TYPE_CHECKING:
    from django.dispatch import Signal

    from django_jobqueue.models import JobAttempt

PATIENCE = 20
"""Claims after which a task that cannot be imported fails: it is given back until then, for about an hour."""


def resolve(job: Any) -> Handler | None:
    """The handler of a job that is a task; ``None`` for other jobs, and for a task that this code does not have.

    Workers give the latter back, for another one may have it (a deployment under way), but not for ever.
    """
    if NOTES not in job.meta:
        return None
    try:
        task = as_enqueued(find_task(job.type), job)
    except ImportError as error:
        return None if job.fencing_token <= PATIENCE else _failing(job, error)
    except Exception as error:  # no task, or a module that raises: the job's failure, not its worker's
        return _failing(job, error)
    options = settle(task, _settings(framework_of(task), task.backend).get("OPTIONS", {}))
    if inspect.iscoroutinefunction(task.func):
        function = partial(_run_async, task, options)
        return Handler(type=job.type, function=function, timeout=options.timeout, is_async=True)
    return Handler(type=job.type, function=partial(_run, task, options), timeout=options.timeout)


def _failing(job: Any, error: Exception) -> Handler:
    def fail(job: Any, **payload: Any) -> None:
        raise error

    return Handler(type=job.type, function=fail)


def _run(task: Any, options: Options, job: Any, *, args: list[Any], kwargs: dict[str, Any]) -> Any:
    attempt = Attempt(task, job, args, kwargs, _earlier(job))
    attempt.send(attempt.framework.task_started)
    try:
        if options.atomic:  # in here, so that no receiver is in the transaction, nor hears of it too early
            with job.complete_in_transaction() as completion:
                completion.result = attempt.succeed(task.call(*attempt.positional, **kwargs))
            value = None
        else:
            value = attempt.succeed(task.call(*attempt.positional, **kwargs))
    except BaseException as error:
        attempt.fail(error)
        attempt.send(attempt.framework.task_finished)  # in here, so that receivers see the exception
        raise
    attempt.send(attempt.framework.task_finished)
    return value


async def _run_async(
    task: Any, options: Options, job: Any, *, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    late_at = time.monotonic() + (options.timeout or math.inf)
    earlier = await sync_to_async(_earlier)(job) if job.fencing_token > 1 else ()
    attempt = Attempt(task, job, args, kwargs, earlier)
    await attempt.asend(attempt.framework.task_started)
    try:
        value = attempt.succeed(await task.acall(*attempt.positional, **kwargs))
    except BaseException as error:
        attempt.fail(_why_cancelled(error, late=time.monotonic() >= late_at))
        await attempt.asend(attempt.framework.task_finished)
        raise
    await attempt.asend(attempt.framework.task_finished)
    return value


def _why_cancelled(error: BaseException, *, late: bool) -> BaseException:
    """What the worker will make of ``error``: a cancellation by itself is a timeout or an interruption."""
    from django_jobqueue.workers.execute import JobInterrupted, JobTimedOut

    current = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and current is not None and current.cancelling():
        return JobTimedOut() if late else JobInterrupted()
    return error


def _earlier(job: Any) -> Sequence[JobAttempt]:
    return read_attempts(job.id) if job.fencing_token > 1 else ()


class Attempt:
    """One run of a task: the framework's result as it changes, and the signals that tell of it."""

    def __init__(
        self, task: Any, job: Any, args: list[Any], kwargs: dict[str, Any], earlier: Sequence[JobAttempt]
    ) -> None:
        now = timezone.now()
        self.framework = framework_of(task)
        self._job = job
        self._sender = _sender(self.framework, task.backend)
        self._result = self.framework.result(
            task=task,
            id=str(job.id),
            status=status(self.framework, "running"),
            enqueued_at=job.created_at,
            started_at=earlier[0].started_at if earlier else now,
            finished_at=None,
            last_attempted_at=now,
            args=args,
            kwargs=kwargs,
            backend=task.backend,
            errors=errors(self.framework, earlier),
            worker_ids=[*(attempt.worker_id for attempt in earlier), job.worker_id],
        )
        context = (
            [self.framework.job_context(task_result=self._result, job=job)] if task.takes_context else []
        )
        self.positional: list[Any] = context + args

    def succeed(self, value: Any) -> Any:
        """The task returned ``value``; gives it back as JSON. Raises ``PermanentFailure`` when it is none."""
        from django_jobqueue.jobs.running.complete import dump_result

        if value is not None:
            try:
                value = json.loads(dump_result(value))
            except Exception as error:  # a value may be of a class that raises anything
                raise PermanentFailure(f"The task returned, but its {error}") from error
        self._set(_return_value=value, status=status(self.framework, "completed"), finished_at=timezone.now())
        return value

    def fail(self, error: BaseException) -> None:
        """The task raised ``error``: FAILED, or READY where the job will run again."""
        from django_jobqueue.jobs.retry_policy import decide
        from django_jobqueue.workers.execute import outcome_of
        from django_jobqueue.workers.outcome import Failed

        job, outcome = self._job, outcome_of(error)
        self._set(_return_value=None, finished_at=None)
        if not isinstance(outcome, Failed):  # given back: no attempt is counted
            self._result.worker_ids.pop()
            self._set(status=status(self.framework, "pending"))
            return
        failure = outcome.failure
        self._result.errors.append(
            self.framework.error(exception_class_path=failure.exception_class, traceback=failure.traceback)
        )
        decision = decide(
            failure,
            retry_count=job.retry_count,
            max_retries=job.max_retries,
            cancel_requested=job.cancel_requested,
            backoff=None,
        )
        self._set(status=status(self.framework, decision.status))
        if self._result.is_finished:
            self._set(finished_at=timezone.now())

    def send(self, signal: Signal) -> None:
        """Send robustly: a receiver that raises is logged and harms no task."""
        signals.send(signal, self._sender, task_result=self._result)

    async def asend(self, signal: Signal) -> None:
        """``send`` from the event loop, in a thread: receivers may use the database, and see the exception."""
        await sync_to_async(self.send)(signal)

    def _set(self, **changes: Any) -> None:
        for name, value in changes.items():
            object.__setattr__(self._result, name, value)


def _settings(framework: Framework, alias: str) -> dict[str, Any]:
    found: dict[str, Any] = framework.backends.settings.get(alias, {})
    return found


def _sender(framework: Framework, alias: str) -> type[Any]:
    """The class of the task's backend; of this one where the alias is gone or stands for another kind now."""
    try:
        found = import_string(_settings(framework, alias)["BACKEND"])
    except (KeyError, ImportError):
        return JobQueueBackend
    return found if issubclass(found, JobQueueBackend) else JobQueueBackend

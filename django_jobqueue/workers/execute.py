"""One job, from its handler's first line to an outcome. The only place that catches everything."""

from __future__ import annotations

import contextvars
import logging
import traceback
from collections.abc import Callable
from typing import Any

from django_jobqueue import registry, signals
from django_jobqueue.exceptions import (
    Cancelled,
    Interruption,
    InvalidJob,
    PermanentFailure,
    RetryLater,
    Snooze,
)
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.jobs.running.complete import dump_result, never_ran
from django_jobqueue.registry import Handler
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Completed, Failed, Outcome, Released, Written

logger = logging.getLogger("django_jobqueue.worker")

_LONGEST_RELEASE = 300.0


class JobTimedOut(Interruption):
    """Raised inside a handler that has run for longer than its ``timeout``."""


class JobInterrupted(Interruption):
    """Raised inside a handler whose worker has to stop now."""


_NO_RESULT = Completed()
_WRITTEN = Written()


def unknown_type(job: RunningJob) -> Released:
    """Nobody here can run this."""
    return released_for_longer(
        job,
        f"No handler for the type {job.type!r} in worker {job.worker_id}; another worker may have one. "
        "Is the app that registers it in INSTALLED_APPS?",
    )


def no_async_places(job: RunningJob) -> Released:
    """An async job for a worker that runs none."""
    return released_for_longer(
        job,
        f"The handler is async, and worker {job.worker_id} has no places for those (--async-concurrency 0).",
    )


def released_for_longer(job: RunningJob, reason: str) -> Released:
    """This worker cannot run it: give it back for longer each time (1 s, doubled up to 5 min)."""
    return Released(min(_LONGEST_RELEASE, 2.0 ** min(job.fencing_token - 1, 10)), reason)


def execute(job: RunningJob, call: Callable[[Handler, RunningJob], Any]) -> Outcome:
    """Run a job's handler through ``call`` in a context of its own, and say how it ended. Never raises."""
    try:
        handler = registry.resolve(job)
        if handler is None:
            return unknown_type(job)
        # What the handler does to context variables (language, time zone) ends with its context.
        result = contextvars.copy_context().run(_run, call, handler, job)
    except BaseException as error:
        return _raised(job, error)
    return _WRITTEN if job.completed else completed(result)


async def aexecute(job: RunningJob, call: Callable[[Handler, RunningJob], Any]) -> Outcome:
    """``execute`` for an async handler; the caller's task is the context."""
    try:
        handler = registry.resolve(job)
        if handler is None:
            return unknown_type(job)
        signals.send(signals.job_started, Job, job=job)
        result = await call(handler, job)
    except BaseException as error:
        return _raised(job, error)
    return _WRITTEN if job.completed else completed(result)


def _run(call: Callable[[Handler, RunningJob], Any], handler: Handler, job: RunningJob) -> Any:
    if signals.job_started.receivers:
        signals.send(signals.job_started, Job, job=job)
    return call(handler, job)


def _raised(job: RunningJob, error: BaseException) -> Outcome:
    if not job.completed:
        return outcome_of(error)
    logger.error(
        "The handler of job %s (%s) raised %s after it had completed the job in its own transaction",
        job.id,
        job.type,
        type(error).__qualname__,
    )
    return _WRITTEN


def completed(result: Any) -> Outcome:
    """Success with ``result``; one that cannot be stored fails the job for good, for its effects have happened.

    The outcome of a run in another process stays what it is.
    """
    if result is None:
        return _NO_RESULT
    if isinstance(result, Outcome):
        return result
    if what := never_ran(result):
        return Failed(Failure(error=what, retryable=False))
    try:
        return Completed(dump_result(result))
    except InvalidJob as error:
        return Failed(Failure(error=f"The handler succeeded, but its {error}", retryable=False))
    except BaseException as error:
        return _failed(error, retryable=False)


def outcome_of(error: BaseException) -> Outcome:
    """What a handler that raised ``error`` meant; a group whose leaves all say the same means that."""
    said = _said(error)
    if isinstance(said, PermanentFailure):
        return _failed(error, retryable=False)
    if isinstance(said, Snooze):
        return Released(said.delay, _text(said))
    if isinstance(said, Cancelled):
        return _failed(error, outcome="cancelled")
    if isinstance(said, RetryLater):
        return _failed(error, retry_in=said.delay)
    if isinstance(error, JobInterrupted):
        return Released(0.0, "The worker was stopped before the job could finish.")
    if isinstance(error, JobTimedOut):
        return _failed(error, outcome="timed_out")
    return _failed(error)


def _said(error: BaseException) -> BaseException | None:
    """The exception of this app that ``error`` is or only holds; of several the one with the longest delay."""
    leaves: list[BaseException] = []
    waiting = [error]
    while waiting:
        found = waiting.pop()
        if isinstance(found, BaseExceptionGroup):
            waiting += reversed(found.exceptions)
        else:
            leaves.append(found)
    for kind in (PermanentFailure, Snooze, Cancelled, RetryLater):
        if all(isinstance(leaf, kind) for leaf in leaves):
            return max(leaves, key=lambda leaf: float(getattr(leaf, "delay", 0.0)))
    return None


def _failed(error: BaseException, **options: Any) -> Failed:
    return Failed(_failure(error, **options), error)


def _text(error: BaseException) -> str:
    try:
        return "".join([str(error)])  # a plain one, whatever class of text it is
    except BaseException:
        return "(its text cannot be read)"


def _failure(
    error: BaseException, *, outcome: str = "failed", retryable: bool = True, retry_in: float | None = None
) -> Failure:
    """The record of ``error``. Cannot fail: an exception whose text raises is named by its class alone."""
    kind = type(error)
    name = f"{kind.__module__}.{kind.__qualname__}"
    message = _text(error)
    try:
        lines = "".join(traceback.format_exception(error))
    except BaseException:
        lines = "(its traceback cannot be read)"
    return Failure(
        error=f"{kind.__qualname__}: {message}" if message else kind.__qualname__,
        outcome=outcome,
        retryable=retryable,
        retry_in=retry_in,
        exception_class=name,
        traceback=lines,
    )

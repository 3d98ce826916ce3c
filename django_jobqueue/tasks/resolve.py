"""How a worker finds the handler of a job that is a task."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from django_jobqueue.backend import JobQueueBackend
from django_jobqueue.registry import Handler
from django_jobqueue.tasks.attempt import Plan
from django_jobqueue.tasks.framework import framework_of
from django_jobqueue.tasks.options import settle
from django_jobqueue.tasks.results import as_enqueued, find_task, notes_of
from django_jobqueue.tasks.run import run, run_async

PATIENCE = 20
"""Claims after which a task that cannot be imported fails: it is given back until then, for about an hour."""

_MOST = 1000

_plain: dict[tuple[Any, ...], tuple[Any, Handler]] = {}
"""Handlers of calls without choices of their own, by what their jobs have in common, with the task they are for."""


def resolve(job: Any) -> Handler | None:
    """The handler of a job that is a task; ``None`` for other jobs, and for a task that this code does not have.

    Workers give the latter back, for another one may have it (a deployment under way), but not for ever. What the
    task's module raises is raised, and so is ``NotATask``: the job's failure, not its worker's.
    """
    notes = notes_of(job)
    if notes is None:
        return None
    try:
        declared = find_task(job.type)
        if len(notes) > 1 or job.idempotency_key is not None:
            return _handler(declared, job)
        common = (job.type, notes["backend"], job.queue, job.priority)
        known, handler = _plain.get(common, (None, None))
        if known is not declared or handler is None:
            if len(_plain) >= _MOST:  # queues by the thousand
                _plain.clear()
            handler = _handler(declared, job)
            _plain[common] = (declared, handler)
        return handler
    except ImportError:
        if job.fencing_token > PATIENCE:
            raise
        return None


def _handler(declared: Any, job: Any) -> Handler:
    task = as_enqueued(declared, job)
    framework = framework_of(task)
    alias = framework.backends.settings.get(task.backend, {})
    options = settle(task, alias.get("OPTIONS", {}))
    plan = Plan(task, framework, options, _sender(alias))
    is_async = inspect.iscoroutinefunction(task.func)
    return Handler(
        type=job.type,
        function=partial(run_async if is_async else run, plan),
        timeout=options.timeout,
        is_async=is_async,
    )


def _sender(alias: dict[str, Any]) -> type[Any]:
    """The class of the task's backend; of this one where the alias is gone or stands for another kind now."""
    try:
        found = import_string(alias["BACKEND"])
    except (KeyError, ImportError):
        return JobQueueBackend
    return found if issubclass(found, JobQueueBackend) else JobQueueBackend


def _forget(*, setting: str, **_: Any) -> None:
    if setting == "TASKS":
        _plain.clear()


setting_changed.connect(_forget, dispatch_uid="django_jobqueue.tasks.resolve")

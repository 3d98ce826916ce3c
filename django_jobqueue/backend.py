"""The backend for Django's tasks framework: a task is a job.

A job's type is the task's module path, its payload ``{"args": [...], "kwargs": {...}}``; queue, priority and
run time map one to one, and the id of a result is the job's id as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from django_jobqueue import signals
from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.new_job import ReservedMeta
from django_jobqueue.tasks.framework import FRAMEWORK, Framework, framework_of, frameworks
from django_jobqueue.tasks.options import check_options, settle, using
from django_jobqueue.tasks.results import (
    NOTES,
    NotATask,
    find_task,
    notes_of,
    only_task,
    read_jobs,
    result_of,
)

if TYPE_CHECKING:
    from django_jobqueue.jobs.enqueue import Enqueued

_ID = re.compile(r"[0-9]{1,19}")
_FIELD = re.compile(r"(jobs\[\d+\]\.)?(payload(?:\.|$))?(.*)", re.DOTALL)


class InvalidArgument(InvalidJob, TypeError):
    """An argument of a task that is not JSON; ``field`` is its path, for example ``args[0].lines``."""


class JobQueueBackend(FRAMEWORK.base_backend):  # type: ignore[misc, name-defined]
    """Tasks as jobs in the project's own database, run by ``runworker`` beside registered handlers.

    ``OPTIONS`` may hold ``max_retries``, ``backoff`` and ``timeout`` for tasks that do not say it themselves.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    @property
    def task_class(self) -> Any:
        """What a decorator makes of a function: a ``JobTask`` of the framework that it belongs to."""
        return self._framework.job_task

    @property
    def _framework(self) -> Framework:
        """The framework whose handler made this instance."""
        in_use = list(frameworks())
        if len(in_use) > 1:
            for framework in in_use:
                if any(known is self for known in framework.backends.all(initialized_only=True)):
                    return framework
        return FRAMEWORK

    def validate_task(self, task: Any) -> None:
        """Refuse what no job can be, with the framework's ``InvalidTask`` naming it."""
        framework = framework_of(task)
        framework.base_backend.validate_task(self, task)
        try:
            limits.check_text("queue_name", task.queue_name, limits.QUEUE_LENGTH)
            limits.check_text("the path of the task", task.module_path, limits.TYPE_LENGTH)
            if task.run_after is not None:
                limits.check_time("run_after", task.run_after)
            if isinstance(task, framework.job_task):
                check_options(task)
        except InvalidJob as error:
            raise framework.invalid_task(str(error)) from None

    @sensitive_variables()
    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Add a job in the caller's transaction; with a key that is taken, the result of the job that has it.

        Raises ``InvalidTask``, ``InvalidArgument`` naming the path of an argument that is not JSON, and
        ``IdempotencyMismatch`` where the key's job is no task.
        """
        from django_jobqueue.models import Job

        self.validate_task(task)
        try:
            job = Job.objects.enqueue(**self._shared(task), **_own(task, args, kwargs))
        except InvalidJob as error:
            raise _about_call(error) from None
        if job.replayed:
            return result_of(only_task(job))
        result = result_of(job, task, ())
        self._tell_enqueued(task, result)
        return result

    @sensitive_variables()
    def enqueue_many(self, task: Any, calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]]) -> list[Any]:
        """Add a job for each pair of positional and named arguments, all or none."""
        from django_jobqueue.models import Job

        self.validate_task(task)
        shared = self._shared(task)
        try:
            with transaction.atomic(using=Job.objects.write_alias):
                outcomes = Job.objects.enqueue_many([{**shared, **_own(task, *call)} for call in calls])
                jobs = read_jobs(_checked(outcomes))
        except InvalidJob as error:
            raise _about_call(error) from None
        results = []
        for outcome, job in zip(outcomes, jobs, strict=True):
            results.append(result_of(job) if outcome.replayed else result_of(job, task, ()))
            if not outcome.replayed:
                self._tell_enqueued(task, results[-1])
        return results

    def get_result(self, result_id: str) -> Any:
        """The result of a task of whatever alias. Raises the framework's ``TaskResultDoesNotExist``."""
        from django_jobqueue.models import Job

        job = None
        if isinstance(result_id, str) and _ID.fullmatch(result_id) and int(result_id) <= limits.MAX_ID:
            job = Job.objects.using(Job.objects.write_alias).filter(pk=int(result_id)).first()
        if job is None or notes_of(job) is None:
            raise self._framework.result_does_not_exist(result_id)
        return result_of(job)

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """The system checks of this alias, once where two frameworks ask."""
        from django_jobqueue.checks import task_backend_problems

        if self._framework is not FRAMEWORK:
            return []
        return task_backend_problems(self.alias, self.queues, self.options)

    def _tell_enqueued(self, task: Any, result: Any) -> None:
        signals.send(framework_of(task).task_enqueued, type(self), task_result=result)

    def _shared(self, task: Any) -> dict[str, Any]:
        """What all jobs of ``task`` have in common."""
        options = settle(task, self.options)
        chosen = using(task, _declared(task))
        notes = {"backend": self.alias}
        if task.run_after is not None:
            notes["run_after"] = task.run_after.astimezone(UTC).isoformat()
        if chosen:
            notes["using"] = chosen
        return {
            "type": task.module_path,
            "queue": task.queue_name,
            "priority": int(task.priority),
            "run_at": task.run_after,
            "max_retries": options.max_retries,
            "backoff": options.backoff,
            "meta": ReservedMeta({NOTES: notes}),
        }


def _own(task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    key = getattr(task, "idempotency_key", None)
    return {
        "payload": {"args": list(args), "kwargs": kwargs},
        "idempotency_key": key(*args, **kwargs) if callable(key) else key,
    }


def _declared(task: Any) -> Any:
    """The task that the path of ``task`` leads to, as a worker will find it. Raises ``InvalidTask``."""
    path = task.module_path
    try:
        declared = find_task(path) if task.func.__module__ != "__main__" else None
    except (ImportError, NotATask):
        declared = None
    if declared is None or declared.func is not task.func:
        raise framework_of(task).invalid_task(
            f"{path} does not lead to this task: give it the name of its function, in a module that a worker can "
            "import."
        )
    return declared


def _checked(outcomes: Iterable[Enqueued]) -> Iterator[int]:
    """The ids of what was enqueued or found. Raises what kept one from it."""
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
        assert outcome.id is not None
        yield outcome.id


def _about_call(error: InvalidJob) -> InvalidJob:
    """The error in terms of the call: ``args[0]`` instead of ``payload.args[0]``."""
    found = _FIELD.fullmatch(error.field)
    assert found is not None  # the last group takes everything
    call, is_payload, path = found.groups()
    field = (call or "").replace("jobs", "calls") + (path or "args and kwargs")
    return InvalidArgument(field, error.problem) if is_payload else InvalidJob(field, error.problem)

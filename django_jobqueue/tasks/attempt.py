"""One run of a task, as the framework tells of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.utils import timezone

from django_jobqueue import signals
from django_jobqueue.exceptions import PermanentFailure
from django_jobqueue.tasks.framework import Framework
from django_jobqueue.tasks.options import Options
from django_jobqueue.tasks.results import errors, status

if TYPE_CHECKING:
    from django.dispatch import Signal

    from django_jobqueue.models import JobAttempt


@dataclass(frozen=True, slots=True)
class Plan:
    """A task as it was enqueued, and what all runs of it need. ``sender`` is the class of its backend."""

    task: Any
    framework: Framework
    options: Options
    sender: type[Any]


class Attempt:
    """One run of a task: the framework's result as it changes, and the signals that tell of it."""

    def __init__(
        self, plan: Plan, job: Any, args: list[Any], kwargs: dict[str, Any], earlier: Sequence[JobAttempt]
    ) -> None:
        now = timezone.now()
        self.framework = framework = plan.framework
        self._sender = plan.sender
        self._job = job
        self._result = framework.result(
            task=plan.task,
            id=str(job.id),
            status=status(framework, "running"),
            enqueued_at=job.created_at,
            started_at=earlier[0].started_at if earlier else now,
            finished_at=None,
            last_attempted_at=now,
            args=args,
            kwargs=kwargs,
            backend=plan.task.backend,
            errors=errors(framework, earlier),
            worker_ids=[*(attempt.worker_id for attempt in earlier), job.worker_id],
        )
        takes_context = plan.task.takes_context
        context = [framework.job_context(task_result=self._result, job=job)] if takes_context else []
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

"""The decorator."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from django_jobqueue.backoff import Backoff
from django_jobqueue.tasks.framework import FRAMEWORK
from django_jobqueue.tasks.task import Key

P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:
    from django.tasks.base import Task

    class JobTask(Task[P, R]):
        """What ``job_task`` makes, for type checkers: it keeps the function's signature."""

        max_retries: int | None
        backoff: Backoff | str | None
        timeout: float | timedelta | None
        idempotency_key: Key | None
        atomic: bool | None

        def using(
            self,
            *,
            priority: int | None = None,
            queue_name: str | None = None,
            run_after: datetime | None = None,
            backend: str | None = None,
            max_retries: int | None = None,
            backoff: Backoff | str | None = None,
            timeout: float | timedelta | None = None,
            idempotency_key: Key | None = None,
            atomic: bool | None = None,
        ) -> JobTask[P, R]: ...
else:
    JobTask = FRAMEWORK.job_task


@overload
def task(function: Callable[P, R], /) -> JobTask[P, R]: ...
@overload
def task(
    *,
    priority: int = 0,
    queue_name: str = "default",
    backend: str = "default",
    takes_context: bool = False,
    max_retries: int | None = None,
    backoff: Backoff | str | None = None,
    timeout: float | timedelta | None = None,
    idempotency_key: Key | None = None,
    atomic: bool | None = None,
) -> Callable[[Callable[..., R]], JobTask[..., R]]: ...
def task(
    function: Any = None,
    /,
    *,
    priority: int = 0,
    queue_name: str = "default",
    backend: str = "default",
    takes_context: bool = False,
    max_retries: int | None = None,
    backoff: Backoff | str | None = None,
    timeout: float | timedelta | None = None,
    idempotency_key: Key | None = None,
    atomic: bool | None = None,
) -> Any:
    """The framework's ``task`` decorator with the options of ``JobTask``, on every version.

    A backend of another kind (in tests, for example) ignores those options. Raises the framework's
    ``InvalidTask`` naming the option at fault.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        chosen = FRAMEWORK.backends[backend].task_class
        task_class = chosen if issubclass(chosen, FRAMEWORK.job_task) else FRAMEWORK.job_task
        return task_class(
            func=function,
            priority=priority,
            queue_name=queue_name,
            backend=backend,
            run_after=None,
            takes_context=takes_context,
            max_retries=max_retries,
            backoff=backoff,
            timeout=timeout,
            idempotency_key=idempotency_key,
            atomic=atomic,
        )

    return decorate if function is None else decorate(function)

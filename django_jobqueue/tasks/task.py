"""The task of this queue: the framework's, with the options of its jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django_jobqueue.backoff import Backoff

Key = str | Callable[..., str | None]
"""An idempotency key, or what makes one of the arguments (``None``: no key)."""


def job_task(base: Any) -> Any:
    """A subclass of ``base``, a framework's ``Task``."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class JobTask(base):  # type: ignore[misc]
        """A task with the options of its jobs.

        What is ``None`` is left to ``OPTIONS`` of the backend, then to ``JOBQUEUE``. ``timeout`` is run time,
        in seconds or as a timedelta. With ``atomic`` the task and its completion are one transaction.
        """

        max_retries: int | None = None
        backoff: Backoff | str | None = None
        timeout: float | timedelta | None = None
        idempotency_key: Key | None = None
        atomic: bool | None = None

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
        ) -> Any:
            """The same task with other choices; what is left out stays as it is."""
            given: dict[str, Any] = {
                "priority": priority,
                "queue_name": queue_name,
                "run_after": run_after,
                "backend": backend,
                "max_retries": max_retries,
                "backoff": backoff,
                "timeout": timeout,
                "idempotency_key": idempotency_key,
                "atomic": atomic,
            }
            return replace(self, **{name: value for name, value in given.items() if value is not None})

    JobTask.__module__, JobTask.__qualname__ = "django_jobqueue.tasks", "JobTask"  # where a pickle finds it
    return JobTask


def job_context(base: Any) -> Any:
    """A subclass of ``base``, a framework's ``TaskContext``."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class JobContext(base):  # type: ignore[misc]
        """The context of a run, and the ``job`` behind it (a ``RunningJob``): heartbeat, cancel request."""

        job: Any

    JobContext.__module__, JobContext.__qualname__ = "django_jobqueue.tasks", "JobContext"
    return JobContext

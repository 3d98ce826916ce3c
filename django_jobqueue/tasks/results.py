"""A job's row as the framework's result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.utils.module_loading import import_string

from django_jobqueue.exceptions import IdempotencyMismatch, KeysBusy, PermanentFailure
from django_jobqueue.jobs.new_job import TASK
from django_jobqueue.tasks.framework import FRAMEWORK, Framework, framework_of, is_task
from django_jobqueue.tasks.options import load_using

if TYPE_CHECKING:
    from django_jobqueue.models import Job, JobAttempt

NOTES = TASK
"""The entry of a job's ``meta`` that makes it a task: what the row has no column for. Its name is reserved.

``backend`` is the alias, ``run_after`` the time as given, ``using`` what ``task.using(...)`` chose.
"""

_CHUNK = 500

_STATUS = {
    "scheduled": "READY",
    "pending": "READY",
    "running": "RUNNING",
    "completed": "SUCCESSFUL",
    "failed": "FAILED",
    "cancelled": "FAILED",
}


class NotATask(PermanentFailure):
    """The path of a job leads to something else than a task; that is never called."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is not a task; only tasks are run.")


def find_task(path: str) -> Any:
    """The task that ``path`` leads to. Raises ``ImportError``, ``NotATask``, or what its module raises."""
    found = import_string(path)
    if not is_task(found):
        raise NotATask(path)
    return found


def notes_of(job: Any) -> dict[str, Any] | None:
    """The entry ``NOTES`` of a job that is a task; ``None`` for other jobs, and where foreign JSON stands there."""
    notes = job.meta.get(NOTES) if isinstance(job.meta, dict) else None
    return notes if isinstance(notes, dict) and isinstance(notes.get("backend"), str) else None


def status(framework: Framework, job_status: str) -> Any:
    """The framework's status of a job in ``job_status``."""
    return framework.status[_STATUS[job_status]]


def as_enqueued(declared: Any, job: Any) -> Any:
    """``declared`` with the choices that ``job`` was enqueued with.

    Nothing is validated: a row outlives the queues and backends that it was enqueued for.
    """
    notes = notes_of(job) or {"backend": "default"}
    changes = {
        "priority": job.priority,
        "queue_name": job.queue,
        "backend": notes["backend"],
        "run_after": _instant(notes.get("run_after")),
        **load_using(notes.get("using")),
    }
    if job.idempotency_key is not None and getattr(declared, "idempotency_key", "") is None:
        changes["idempotency_key"] = job.idempotency_key
    return _make(
        type(declared),
        {**{field.name: getattr(declared, field.name) for field in fields(declared)}, **changes},
    )


def result_of(job: Job, task: Any = None, attempts: Sequence[JobAttempt] | None = None) -> Any:
    """The result of a job that is a task; ``task`` is read from the row where it is not given.

    One query where the job may have attempts that failed, unless ``attempts`` are given.
    """
    if task is None:
        task = _task_of(job)
    framework = framework_of(task)
    if attempts is None:
        attempts = read_attempts(job.pk) if _may_have_attempts(job) else ()
    recorded = bool(attempts) and attempts[-1].fencing_token == job.fencing_token
    is_claimed = job.worker_id != ""
    payload = job.payload if isinstance(job.payload, dict) else {}
    last = job.claimed_at or (attempts[-1].started_at if attempts else None)
    result = framework.result(
        task=task,
        id=str(job.pk),
        status=status(framework, job.status),
        enqueued_at=job.created_at,
        started_at=attempts[0].started_at if attempts else last,
        finished_at=job.finished_at,
        last_attempted_at=last,
        args=payload.get("args", []),
        kwargs=payload.get("kwargs", {}),
        backend=task.backend,
        errors=errors(framework, attempts)
        + ([_cancelled(framework)] if job.status == "cancelled" and not recorded else []),
        worker_ids=[
            *(attempt.worker_id for attempt in attempts),
            *([job.worker_id] if is_claimed and not recorded else []),
        ],
    )
    object.__setattr__(result, "_return_value", job.result)
    return result


def only_task(job: Job) -> Job:
    """``job``, if it is a task. Raises ``IdempotencyMismatch``: it has the key that a task wanted."""
    if notes_of(job) is None:
        raise IdempotencyMismatch(job.pk, "type")
    return job


def read_jobs(ids: Iterable[int]) -> list[Job]:
    """The jobs of a task's calls, in the order of ``ids``.

    Raises ``IdempotencyMismatch`` for one that is no task, and ``KeysBusy`` for one that has just been pruned.
    """
    from django_jobqueue.models import Job

    wanted = list(ids)
    found: dict[int, Job] = {}
    for start in range(0, len(wanted), _CHUNK):
        some = Job.objects.using(Job.objects.write_alias).filter(pk__in=wanted[start : start + _CHUNK])
        found.update((job.pk, only_task(job)) for job in some)
    if not found.keys() >= set(wanted):
        raise KeysBusy
    return [found[id] for id in wanted]


def read_attempts(job_id: int) -> list[JobAttempt]:
    """The attempts of a job that did not succeed, the first one first."""
    from django_jobqueue.jobs.queryset import attempts_of
    from django_jobqueue.models import Job

    return list(attempts_of(Job.objects).filter(job_id=job_id).order_by("id"))


def errors(framework: Framework, attempts: Sequence[JobAttempt]) -> list[Any]:
    """What went wrong in each attempt; one without an exception of its own gets one that names the reason."""
    return [
        framework.error(
            exception_class_path=attempt.exception_class
            or (
                "django_jobqueue.exceptions."
                + ("ClaimLost" if attempt.outcome == "lost" else "JobQueueError")
            ),
            traceback=attempt.traceback or attempt.message,
        )
        for attempt in attempts
    ]


def _cancelled(framework: Framework) -> Any:
    return framework.error(
        exception_class_path="django_jobqueue.exceptions.Cancelled", traceback="The job was cancelled."
    )


def _may_have_attempts(job: Job) -> bool:
    """Whether a claim of this job may have ended without success: that writes ``error``, a success empties it."""
    if job.status == "completed":
        return job.fencing_token > 1
    return job.error != "" and job.fencing_token > (1 if job.status == "running" else 0)


def _task_of(job: Job) -> Any:
    try:
        declared = find_task(job.type)
    except Exception:  # whatever the module raises: the row stays readable without its code
        declared = _make(FRAMEWORK.job_task, {"func": _lost_function(job.type)})
    return as_enqueued(declared, job)


def _instant(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def _make(task_class: Any, values: dict[str, Any]) -> Any:
    """A task without the validation of its backend."""
    made = object.__new__(task_class)
    for field in fields(task_class):
        default = None if field.default is MISSING else field.default
        object.__setattr__(made, field.name, values.get(field.name, default))
    return made


@lru_cache(maxsize=1000)
def _lost_function(path: str) -> Callable[..., Any]:
    def lost(*args: Any, **kwargs: Any) -> Any:
        raise ImportError(f"{path} is not a task of this project any more.")

    lost.__module__, _, lost.__name__ = path.rpartition(".")
    lost.__qualname__ = lost.__name__
    return lost

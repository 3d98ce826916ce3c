"""The log record of an attempt that failed: what error trackers see."""

from __future__ import annotations

import logging
import traceback

from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.jobs.sensitive import sensitive_names
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Failed

logger = logging.getLogger("django_jobqueue.worker")


class RemoteTraceback(Exception):
    """The traceback of an exception that was raised in another process, as its text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def log_failure(job: RunningJob, outcome: Failed, label: str) -> None:
    """Log a failed attempt: the last one at ERROR, others at WARNING, with the exception.

    The record has it for those that look at ``exc_info``; lines of text show where it was raised, not what it says.
    Without it where the handler chose this end, or where exception and frames may show sensitive entries.
    """
    failure = outcome.failure
    is_final = label == "failed"
    level = logging.ERROR if is_final else logging.WARNING
    if not logger.isEnabledFor(level):
        return
    chosen = label == "cancelled" or (failure.retry_in is not None and not is_final)
    error = None if chosen or sensitive_names(job.type) else outcome.exception or _rebuilt(failure)
    record = logger.makeRecord(
        logger.name,
        level,
        __file__,
        0,
        "Job %s (%s) %s: %s",
        (job.id, job.type, label, failure.exception_class or "failed"),
        None if error is None else (type(error), error, error.__traceback__),
        "log_failure",
    )
    # What formatters write instead of the exception's own text, which may hold personal data and is got by its code.
    record.exc_text = None if error is None else _without_messages(error)
    logger.handle(record)


def _without_messages(error: BaseException) -> str:
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"Traceback (most recent call last):\n{frames}{type(error).__module__}.{type(error).__qualname__}"


def _rebuilt(failure: Failure) -> BaseException | None:
    """The exception of another process, as far as it was told: its class's name, its message, its traceback."""
    if not failure.exception_class:
        return None
    module, _, name = failure.exception_class.rpartition(".")
    kind = type(name, (Exception,), {"__module__": module})
    error: BaseException = kind(failure.error.removeprefix(f"{name}: "))
    error.__cause__ = RemoteTraceback(failure.traceback)
    return error

"""The rule of what happens after a failure: a failure and a job's state in, a decision out. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from django_jobqueue.backoff import Backoff, delay_before
from django_jobqueue.jobs.status import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an attempt did not succeed.

    ``outcome`` is one of ``failed``, ``timed_out``, ``lost`` and ``cancelled``. ``retry_in`` (seconds)
    overrides the backoff.
    """

    error: str
    outcome: str = "failed"
    retryable: bool = True
    retry_in: float | None = None
    exception_class: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The status that a failed attempt leads to; ``delay`` is seconds until the job may run again."""

    status: Status
    retry_count: int
    delay: float = 0.0


def decide(
    failure: Failure,
    *,
    retry_count: int,
    max_retries: int,
    cancel_requested: bool,
    backoff: Backoff | None,
) -> Decision:
    """Cancelled when that was asked for; else another try while there are retries left; else failed."""
    if cancel_requested or failure.outcome == "cancelled":
        return Decision(Status.CANCELLED, retry_count)
    if not failure.retryable or retry_count >= max_retries:
        return Decision(Status.FAILED, retry_count)
    retry = retry_count + 1
    delay = failure.retry_in if failure.retry_in is not None else delay_before(retry, backoff)
    return Decision(Status.SCHEDULED if delay > 0 else Status.PENDING, retry, delay)

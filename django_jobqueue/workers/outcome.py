"""How a run ended, as its worker will write it."""

from __future__ import annotations

from dataclasses import dataclass, field

from django_jobqueue.jobs.retry_policy import Failure


@dataclass(frozen=True, slots=True)
class Completed:
    """Success, with the result as JSON text."""

    result: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """No success; ``retry_or_fail`` decides what follows. ``exception`` is for the log, where it is at hand."""

    failure: Failure
    exception: BaseException | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Released:
    """Given back without counting a retry, for ``delay`` seconds."""

    delay: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """Completed already, by the transaction of the handler's own writes: nothing is left to write."""


Outcome = Completed | Failed | Released | Written

LEFT_OPEN = Failed(
    Failure(
        error="The handler returned with a database transaction open; it was rolled back, so its writes are gone."
    )
)

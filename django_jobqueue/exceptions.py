"""Everything this app raises on purpose, and the ends a handler can choose."""

from __future__ import annotations

from datetime import timedelta


class JobQueueError(Exception):
    """Base of all errors of this app."""


class Interruption(BaseException):
    """Raised by a worker inside a handler that has to end now. Nothing between it and the worker may catch it."""


class InvalidJob(JobQueueError, ValueError):
    """A value that no database would be asked to store.

    ``field`` is the name of the argument at fault, ``problem`` says what is wrong with it.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class IdempotencyMismatch(JobQueueError, ValueError):
    """The key is taken by a job of another type or payload, and ``IDEMPOTENCY_MISMATCH`` is ``"reject"``."""

    def __init__(self, job_id: int, different: str) -> None:
        super().__init__(
            f"idempotency_key: job {job_id} already has this key with a different {different}. "
            "Use another key, or send the same type and payload again."
        )
        self.job_id = job_id
        self.different = different


class KeysBusy(JobQueueError):
    """The jobs of these idempotency keys come and go faster than they can be read; the same call may succeed."""

    def __init__(self) -> None:
        super().__init__(
            "The jobs of these idempotency keys come and go faster than they can be read; try again."
        )


class QueueFull(JobQueueError):
    """As many jobs wait in the queue as ``MAX_QUEUE_DEPTH`` allows; nothing was added."""

    def __init__(self, queue: str, depth: int) -> None:
        super().__init__(
            f"queue: {depth} jobs or more wait in {queue!r}; no more are taken until some are done."
        )
        self.queue = queue
        self.depth = depth


class JobNotFound(JobQueueError, LookupError):
    """There is no job with this id (never created, or pruned)."""

    def __init__(self, job_id: int | str) -> None:
        super().__init__(f"There is no job {job_id}.")
        self.job_id = job_id


class TransitionRefused(JobQueueError):
    """The verb does not start from the job's state; nothing was changed. ``code`` names the reason."""

    code = "refused"

    def __init__(self, job_id: int, message: str) -> None:
        super().__init__(message)
        self.job_id = job_id


class WrongStatus(TransitionRefused):
    """The job is in a status that the verb does not start from."""

    code = "wrong_status"

    def __init__(self, job_id: int, status: str, verb: str) -> None:
        super().__init__(job_id, f"Job {job_id} is {status}; {verb} does not apply to it.")
        self.status = status


class NotRunning(WrongStatus):
    """An acknowledgement of a job that is not running."""

    code = "not_running"


class ClaimLost(TransitionRefused):
    """The claim is no longer current: the job was reaped, released or claimed again. Stop working on it."""

    code = "claim_lost"

    def __init__(self, job_id: int) -> None:
        super().__init__(
            job_id, f"This claim on job {job_id} is no longer current; stop working on it, change nothing."
        )


class NotOwner(TransitionRefused):
    """Another principal holds the claim."""

    code = "not_owner"

    def __init__(self, job_id: int) -> None:
        super().__init__(job_id, f"Job {job_id} is claimed by another principal.")


class HandlerEnd(JobQueueError):
    """Base of the ends that a handler chooses by raising."""


class PermanentFailure(HandlerEnd):
    """The job fails now, whatever retries it has left."""


class Cancelled(HandlerEnd):
    """The job ends as cancelled; raise it after seeing ``job.cancel_requested``."""


class _Delayed(HandlerEnd):
    def __init__(self, delay: float | timedelta, reason: str = "") -> None:
        seconds = delay.total_seconds() if isinstance(delay, timedelta) else float(delay)
        if not 0 <= seconds <= 366 * 86400:
            raise ValueError(f"delay: {seconds} is not between 0 seconds and 366 days.")
        super().__init__(reason or f"again in {seconds:g} s")
        self.delay = seconds


class RetryLater(_Delayed):
    """The attempt failed; retry it after ``delay`` (seconds or a timedelta). Counts as a retry."""


class Snooze(_Delayed):
    """Not now: run the job again after ``delay`` (seconds or a timedelta). Counts no retry."""


class ExecutionInProgress(Snooze):
    """Another run is at this effect now. Leaving a handler, it means: again later, no retry counted."""

    def __init__(self, key: str, delay: float) -> None:
        super().__init__(delay, f"The effect {key!r} is in progress elsewhere; again in {delay:g} s.")
        self.key = key


class NestedExecution(PermanentFailure, ExecutionInProgress):
    """An effect was asked for inside itself: a mistake in the program, and waiting would never end."""

    def __init__(self, key: str) -> None:
        ExecutionInProgress.__init__(self, key, 0)
        self.args = (f"once({key!r}) was called inside the effect of the same key; give each its own key.",)


class ExecutionInDoubt(PermanentFailure):
    """Nobody knows whether an effect happened, so it is not run again until a person has settled it.

    ``once`` raises it with ``on_stale="halt"``. An effect may raise it too, for example when the other side
    did not answer in time; its entry is then in doubt at once.
    """

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class ExecutionLost(JobQueueError):
    """This run of an effect took longer than ``stale_after`` and another took over; its end was not recorded."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"The effect {key!r} was taken over by another run, or settled by a person, before this one ended; "
            "its result was not recorded. Is stale_after shorter than the effect can take?"
        )
        self.key = key


class ResultNotStored(PermanentFailure):
    """An effect happened, but what it returned is not JSON. It is never run again, and has no result."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"The effect {key!r} happened and is not run again, but its {problem}")
        self.key = key


class NotInDoubt(JobQueueError):
    """There is nothing to settle: the execution is not in doubt, or not any more."""

    def __init__(self, key: str) -> None:
        super().__init__(f"The execution {key!r} is not in doubt; nothing was changed.")
        self.key = key


class LockHeld(Snooze):
    """Somebody else holds the lock. Leaving a handler, it means: again later, no retry counted."""

    def __init__(self, name: str, delay: float) -> None:
        super().__init__(delay, f"The lock {name!r} is held elsewhere; again in {delay:g} s.")
        self.name = name


class LockLost(JobQueueError):
    """The lease of the lock ran out and somebody else may hold it now."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The lock {name!r} is no longer held here; somebody else may have it.")
        self.name = name

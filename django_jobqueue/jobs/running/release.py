"""running -> pending | scheduled | cancelled, no retry counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Case, F, Q, Value, When

from django_jobqueue.jobs import limits
from django_jobqueue.jobs.queryset import transition
from django_jobqueue.jobs.running.claims import holds, read, refusal
from django_jobqueue.vendors import ExactCharField, Now

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job


def release(
    manager: JobManager,
    job_id: int,
    *,
    fencing_token: int | None = None,
    claimed_by: str | None = None,
    delay: float = 0.0,
    reason: str | None = None,
) -> Job:
    """Give a claim back: the job is pending again, or scheduled with a ``delay`` in seconds (a snooze).

    Where a cancel was requested, the job is cancelled instead. ``reason`` is kept in ``error``. Raises
    ``ClaimLost``, ``NotOwner``, ``NotRunning`` or ``JobNotFound``; then nothing was changed.
    """
    limits.check_seconds("delay", delay, 0, 366 * 86400)
    cancelled = Q(cancel_requested_at__isnull=False)
    changes: dict[str, Any] = {} if reason is None else {"error": limits.shorten(reason)}
    job = transition(
        manager,
        job_id,
        "release",
        holds(fencing_token, claimed_by),
        status=Case(
            When(cancelled, then=Value("cancelled")),
            default=Value("scheduled" if delay > 0 else "pending"),
            output_field=ExactCharField(),
        ),
        finished_at=Case(When(cancelled, then=Now()), default=F("finished_at")),
        run_at=Now(delay),
        claimed_at=None,
        worker_id="",
        claimed_by="",
        lease_expires_at=None,
        **changes,
    )
    if job is None:
        raise refusal(read(manager, job_id), fencing_token, claimed_by, "release")
    return job

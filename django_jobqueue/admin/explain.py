"""Why a job is where it is and what happens next, in the words of an operator. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django_jobqueue.admin.columns import waiting_since
from django_jobqueue.admin.html import distance, duration
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.status import Status

COUNTED = 1000
"""Counts of other jobs stop here."""

_PATIENCE = timedelta(seconds=30)
"""With the default settings a worker that lives looks sooner than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a job shares its queue with: pending jobs ``ahead`` of it, and jobs ``running`` now."""

    ahead: int
    running: int


def explain(job: Job, now: datetime, *, has_handler: bool, around: Surroundings | None = None) -> str:
    """One or two sentences about ``job``, as of the database's ``now``; ``around`` helps a pending one."""
    match job.status:
        case Status.SCHEDULED:
            return _scheduled(job, now) + _unknown(job, has_handler)
        case Status.PENDING:
            return _pending(job, now, around) + _unknown(job, has_handler)
        case Status.RUNNING:
            return _running(job, now)
        case Status.FAILED:
            retries = _count(job.retry_count, "retry", "retries").lower()
            return f"Failed after {retries}. It stays so until somebody retries it or it is pruned."
        case Status.CANCELLED:
            return "Cancelled. It does not run unless somebody retries it."
    return "Done."


def _scheduled(job: Job, now: datetime) -> str:
    if job.run_at > now:
        return f"Waits for its time, {distance(job.run_at, now)}."
    if now - job.run_at < _PATIENCE:
        return "Due; the next worker that looks makes it pending."
    return (
        f"Due for {duration(now - job.run_at)}, but no worker has made it pending. Is any worker running? "
        "Each looks for due jobs about once a second."
    )


def _pending(job: Job, now: datetime, around: Surroundings | None) -> str:
    waited = now - waiting_since(job)
    sentences = [f"Waiting for {duration(waited)} for a worker of the queue “{job.queue}”."]
    if around is not None:
        ahead = f"{_count(around.ahead, 'job is', 'jobs are')} ahead of it."
        running = f"{_count(around.running, 'job of the queue is', 'jobs of the queue are')} running."
        sentences += [ahead if around.ahead else "It is next.", running]
        if not around.running and waited >= _PATIENCE:
            sentences.append("Is there a worker that serves it?")
    return " ".join(sentences)


def _unknown(job: Job, has_handler: bool) -> str:
    if has_handler:
        return ""
    return f" This project has no handler for “{job.type}”; only an outside worker can run it."


def _running(job: Job, now: datetime) -> str:
    if job.claimed_at is None or job.lease_expires_at is None:
        return "Running."
    held = f"Held by {job.worker_id} for {duration(now - job.claimed_at)}"
    if job.lease_expires_at <= now:
        return (
            f"{held}, but the lease ran out {distance(job.lease_expires_at, now)}: the worker was lost or "
            "stopped renewing. The next worker that reaps, or reapstale, takes it back: it is retried, or fails "
            "if it has no retries left."
        )
    lease = f"{held}; the lease ends {distance(job.lease_expires_at, now)} unless the worker renews it."
    if job.cancel_requested_at is None:
        return lease
    return (
        f"{lease} A cancel was asked for {distance(job.cancel_requested_at, now)}: the job is not retried, "
        "and stops earlier only if its handler looks for the request."
    )


def _count(number: int, one: str, many: str) -> str:
    text = f"{COUNTED:,}+" if number > COUNTED else f"{number:,}" if number else "No"
    return f"{text} {one if number == 1 else many}"

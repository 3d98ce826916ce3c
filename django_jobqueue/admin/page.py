"""What a job's page shows. Plain values: the template escapes them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

from django_jobqueue.admin.columns import db_now, priority_text
from django_jobqueue.admin.html import absolute, distance
from django_jobqueue.jobs.attempt import JobAttempt
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.queryset import attempts_of

ATTEMPTS = 50
"""Attempts on one page, the latest first."""

REDACTED = "Hidden: needs the permission “Can read payload, result and error of jobs”."

_TIMES = {
    "created_at": "created",
    "run_at": "may run from",
    "claimed_at": "claimed",
    "lease_expires_at": "lease ends",
    "cancel_requested_at": "cancel asked",
    "finished_at": "finished",
    "updated_at": "last change",
}


class Entry(NamedTuple):
    """A labelled value; ``note`` stands more quietly below it."""

    label: str
    text: str
    note: str = ""


def facts(job: Job) -> list[Entry]:
    """Who and what the job is."""
    return [
        Entry("type", job.type),
        Entry("queue", job.queue),
        Entry("priority", priority_text(job)),
        Entry("retries", f"{job.retry_count}/{job.max_retries}"),
        Entry("idempotency key", job.idempotency_key or "-"),
        Entry("enqueued by", job.enqueued_by or "-"),
        Entry("worker", job.worker_id or "-"),
        Entry("claimed by", job.claimed_by or "-"),
        Entry("fencing token", str(job.fencing_token)),
    ]


def times(job: Job) -> list[Entry]:
    """The points in time that the job has: to the second, and how far away they are."""
    instants: dict[str, datetime | None] = {label: getattr(job, name) for name, label in _TIMES.items()}
    return [
        Entry(label, absolute(instant), distance(instant, db_now(job)))
        for label, instant in instants.items()
        if instant is not None
    ]


def data(job: Job, *, redacted: bool) -> list[Entry]:
    """What the job carries, as indented JSON; what is empty is left out, and ``redacted`` hides the rest."""
    values: dict[str, Any] = {
        "payload": job.payload,
        "result": job.result,
        "progress": job.progress,
        "meta": job.meta or None,
    }
    return [
        Entry(name, REDACTED if redacted else json.dumps(value, indent=2, ensure_ascii=False))
        for name, value in values.items()
        if value is not None
    ]


def attempts(job: Job, *, redacted: bool) -> list[JobAttempt]:
    """The latest attempts, up to one more than a page shows; ``redacted`` loads none of their text."""
    latest = attempts_of(Job.objects).filter(job=job).order_by("-id")[: ATTEMPTS + 1]
    return list(latest.defer("message", "traceback") if redacted else latest)

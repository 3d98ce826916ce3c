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
from django_jobqueue.jobs.sensitive import redact_json, redact_text, sensitive_names

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
    """What the job carries, as indented JSON; what is empty is left out, and ``redacted`` hides the rest.

    What the job's type calls sensitive is masked for everybody.
    """
    names = sensitive_names(job.type)
    values: dict[str, Any] = {
        "payload": job.payload,
        "result": job.result,
        "progress": job.progress,
        "meta": job.meta or None,
    }
    return [
        Entry(name, REDACTED if redacted else _json(redact_json(value, names)))
        for name, value in values.items()
        if value is not None
    ]


def error(job: Job, *, redacted: bool) -> str:
    """The latest reason of failure, with sensitive values masked."""
    if redacted and job.error:
        return REDACTED
    return redact_text(job.error, job.payload, sensitive_names(job.type))


def attempts(job: Job, *, redacted: bool) -> list[JobAttempt]:
    """The latest attempts, up to one more than a page shows; ``redacted`` loads none of their text.

    Sensitive values are masked in what they say.
    """
    latest = attempts_of(Job.objects).filter(job=job).order_by("-id")[: ATTEMPTS + 1]
    if redacted:
        return list(latest.defer("message", "traceback"))
    names = sensitive_names(job.type)
    shown = list(latest)
    for attempt in shown:
        attempt.message = redact_text(attempt.message, job.payload, names)
        attempt.traceback = redact_text(attempt.traceback, job.payload, names)
    return shown


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)

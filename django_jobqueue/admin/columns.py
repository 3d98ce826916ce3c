"""The columns of the job list.

The jobs come from ``JobAdmin.get_queryset``, which adds ``db_now``, the database's clock.
"""

from __future__ import annotations

from datetime import datetime

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from django_jobqueue.admin.html import badge, clipped, distance, duration, moment, two_lines
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.priority import Priority
from django_jobqueue.jobs.status import Status


def db_now(job: Job) -> datetime:
    """The database's clock when ``job`` was read."""
    now: datetime = vars(job)["db_now"]
    return now


def is_stale(job: Job) -> bool:
    """Whether ``job`` runs on a lease that has run out."""
    lease = job.lease_expires_at
    return job.status == Status.RUNNING and lease is not None and lease <= db_now(job)


def waiting_since(job: Job) -> datetime:
    """Since when a pending job could have run."""
    return max(job.run_at, job.created_at)


def priority_text(job: Job) -> str:
    """The label, and the number where it is between two labels."""
    label = job.priority_label
    return label if job.priority in Priority.values else f"{label} ({job.priority})"


class ListColumns:
    """Columns of the list. All but ``id`` are methods, so that none can be sorted by without an index."""

    @admin.display(description="status")
    def status_badge(self, job: Job) -> SafeString:
        return badge("stale", "stale") if is_stale(job) else badge(job.status, job.status)

    @admin.display(description="type, idempotency key")
    def type_and_key(self, job: Job) -> SafeString:
        return two_lines(clipped(job.type), clipped(job.idempotency_key or ""))

    @admin.display(description="queue")
    def queue_name(self, job: Job) -> SafeString:
        return clipped(job.queue)

    @admin.display(description="priority")
    def priority_name(self, job: Job) -> SafeString:
        return format_html(
            '<span class="jobqueue-priority-{}">{}</span>', job.priority_label, priority_text(job)
        )

    @admin.display(description="retries")
    def retries(self, job: Job) -> str:
        return f"{job.retry_count}/{job.max_retries}"

    @admin.display(description="when, worker")
    def when_and_worker(self, job: Job) -> SafeString:
        return two_lines(self._when(job), clipped(job.worker_id))

    def _when(self, job: Job) -> SafeString:
        now = db_now(job)
        if job.status == Status.SCHEDULED:
            due = distance(job.run_at, now) if job.run_at > now else f"due {distance(job.run_at, now)}"
            return moment(due, job.run_at)
        if job.status == Status.PENDING:
            return moment(f"waiting {duration(now - waiting_since(job))}", waiting_since(job))
        if job.status == Status.RUNNING and job.claimed_at is not None:
            if job.lease_expires_at is not None and is_stale(job):
                return moment(f"stale for {duration(now - job.lease_expires_at)}", job.lease_expires_at)
            running = moment(f"running {duration(now - job.claimed_at)}", job.claimed_at)
            if job.cancel_requested_at is None:
                return running
            return format_html('{} <span class="jobqueue-quiet">cancel asked</span>', running)
        ended = job.finished_at or job.updated_at
        return moment(distance(ended, now), ended)

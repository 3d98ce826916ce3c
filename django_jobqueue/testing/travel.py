"""Time that passes for the queue without a sleep."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F

from django_jobqueue.jobs import limits
from django_jobqueue.models import Job, JobExecution, JobLock


def travel(by: timedelta | float) -> None:
    """Let ``by`` (a timedelta or seconds) pass for the queue.

    What waits comes nearer by that much: the start of scheduled jobs, and the ends of the leases of running jobs,
    of executions and of locks. No clock is changed, neither Python's nor the database's. Call ``run_jobs`` then,
    or ``Job.objects.reap()``.
    """
    seconds = by.total_seconds() if isinstance(by, timedelta) else by
    limits.check_seconds("by", seconds, 0, 20 * 366 * 86400)
    delta = timedelta(seconds=seconds)
    alias = Job.objects.write_alias
    Job.objects.using(alias).filter(status="scheduled").update(run_at=F("run_at") - delta)
    for model in (Job, JobExecution, JobLock):
        held = model._base_manager.using(alias).filter(lease_expires_at__isnull=False)
        held.update(lease_expires_at=F("lease_expires_at") - delta)

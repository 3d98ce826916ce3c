"""scheduled -> pending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connections

from django_jobqueue.exceptions import JobNotFound, WrongStatus
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.queryset import table_of, transition
from django_jobqueue.vendors import Now, retry_transient, vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job


def promote(manager: JobManager, *, limit: int = 1000) -> int:
    """Make up to ``limit`` (1 to 10,000) due jobs pending, the longest due first; returns how many."""
    limits.check_integer("limit", limit, 1, 10_000)
    connection = connections[manager.write_alias]
    vendor = vendor_for(connection)
    table = table_of(manager.model)
    return retry_transient(connection, lambda: vendor.promote(connection, table, limit=limit))


def run_now(manager: JobManager, job_id: int) -> Job:
    """Make one scheduled job pending whatever its ``run_at``. Raises ``WrongStatus`` or ``JobNotFound``."""
    job = transition(manager, job_id, "run_now", status="pending", run_at=Now())
    if job is not None:
        return job
    status = manager.using(manager.write_alias).filter(pk=job_id).values_list("status", flat=True).first()
    if status is None:
        raise JobNotFound(job_id)
    raise WrongStatus(job_id, status, "run now")

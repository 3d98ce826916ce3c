"""pending -> running."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from django_jobqueue.conf import settings
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.pending.take import Wanted, take
from django_jobqueue.jobs.queryset import load_jobs, table_of
from django_jobqueue.vendors import Claim

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job

MAX_CLAIMS = 1000


def claim(
    manager: JobManager,
    *,
    worker_id: str,
    queues: Sequence[str] | None = None,
    exclude_queues: Collection[str] = (),
    types: Sequence[str] | None = None,
    lease_seconds: float | None = None,
    claimed_by: str = "",
) -> Job | None:
    """Take the next job, or ``None`` when there is none. See ``claim_many``."""
    jobs = claim_many(
        manager,
        worker_id=worker_id,
        limit=1,
        queues=queues,
        exclude_queues=exclude_queues,
        types=types,
        lease_seconds=lease_seconds,
        claimed_by=claimed_by,
    )
    return jobs[0] if jobs else None


def claim_many(
    manager: JobManager,
    *,
    worker_id: str,
    limit: int,
    queues: Sequence[str] | None = None,
    exclude_queues: Collection[str] = (),
    types: Sequence[str] | None = None,
    lease_seconds: float | None = None,
    claimed_by: str = "",
) -> list[Job]:
    """Take up to ``limit`` (1 to 1000) pending jobs: highest priority first, then oldest first.

    Each job is handed to one claimer. The caller holds it until ``lease_seconds`` (default
    ``LEASE_SECONDS``) have passed without a heartbeat, and acknowledges it with its ``fencing_token``. Takes
    from ``queues`` (default: all) but ``exclude_queues``; ``types`` restricts it to these types. Inside a
    transaction the claim holds once that commits.
    """
    limits.check_integer("limit", limit, 1, MAX_CLAIMS)
    limits.check_text("worker_id", worker_id, limits.WORKER_ID_LENGTH)
    if claimed_by:
        limits.check_text("claimed_by", claimed_by, limits.PRINCIPAL_LENGTH)
    lease = settings().LEASE_SECONDS if lease_seconds is None else lease_seconds
    limits.check_seconds("lease_seconds", lease, 0.001, 7 * 86400)
    for queue in queues or ():
        limits.check_text("queues", queue, limits.QUEUE_LENGTH)
    for type in types or ():
        limits.check_text("types", type, limits.TYPE_LENGTH)
    if types is not None and not types:
        return []
    claim = Claim(worker_id=worker_id, claimed_by=claimed_by, lease_seconds=round(lease, 3))
    wanted = Wanted(limit, queues, exclude_queues, types)
    rows = take(manager, claim, wanted, columns=table_of(manager.model).columns)
    jobs = load_jobs(manager, rows)
    jobs.sort(key=lambda job: (-job.priority, job.id))
    return jobs

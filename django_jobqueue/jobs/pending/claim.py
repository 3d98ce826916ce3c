"""pending -> running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from django.db import connections, transaction

from django_jobqueue.conf import settings
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.queryset import load_jobs, table_of
from django_jobqueue.vendors import Claim, retry_transient, vendor_for

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
    wanted = None if queues is None else [q for q in dict.fromkeys(queues) if q not in exclude_queues]
    rows = _claim_rows(manager, claim, wanted, exclude_queues, types, limit)
    jobs = load_jobs(manager, rows)
    jobs.sort(key=lambda job: (-job.priority, job.id))
    return jobs


def _claim_rows(
    manager: JobManager,
    claim: Claim,
    queues: Sequence[str] | None,
    exclude_queues: Collection[str],
    types: Sequence[str] | None,
    limit: int,
) -> list[Any]:
    connection = connections[manager.write_alias]
    vendor = vendor_for(connection)
    table = table_of(manager.model)

    def take(queue: str, count: int) -> list[Any]:
        return vendor.claim(connection, table, claim, queue=queue, limit=count, types=types)

    if queues is not None and len(queues) == 1:
        return retry_transient(connection, lambda: take(queues[0], limit))
    if queues is not None and not queues:
        return []
    heads = [head for head in vendor.heads(connection, table, queues) if head[0] not in exclude_queues]
    heads.sort(key=lambda head: (-head[1], head[2]))
    waiting = [queue for queue, _, _ in heads]
    if not waiting:
        return []
    if limit == 1 or len(waiting) == 1 or types is not None:
        shares = {waiting[0]: limit}
    else:
        # Each of the first ``limit`` jobs is behind the head of its queue, so no other queue can give one.
        merged = vendor.peek(connection, table, waiting[:limit], limit=limit)
        merged.sort(key=lambda head: (-head[1], head[2]))
        shares = Counter(queue for queue, _, _ in merged[:limit])

    def merge() -> list[Any]:
        # Each queue gives its share of the merged order. Only rows that are taken get locked, so no other
        # claimer goes away empty; what others took meanwhile is made up from any queue that has more.
        rows: list[Any] = []
        with transaction.atomic(using=connection.alias) if len(waiting) > 1 else nullcontext():
            spent = set()
            for queue, share in shares.items():
                rows += (taken := take(queue, share))
                if len(taken) < share:
                    spent.add(queue)
            for queue in waiting:
                if len(rows) == limit:
                    break
                if queue not in spent:
                    rows += take(queue, limit - len(rows))
        return rows

    return retry_transient(connection, merge)

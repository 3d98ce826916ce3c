"""running -> running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import connections

from django_jobqueue.conf import settings
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.queryset import table_of, transition
from django_jobqueue.jobs.running.claims import batch, holds, read, refusal
from django_jobqueue.vendors import HeldClaim, JSONText, Now, retry_transient, vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job


def heartbeat(
    manager: JobManager,
    job_id: int,
    *,
    fencing_token: int | None = None,
    claimed_by: str | None = None,
    lease_seconds: float | None = None,
    progress: Any = None,
) -> Job:
    """Extend the lease to ``lease_seconds`` (default ``LEASE_SECONDS``) from now, and store ``progress``.

    The job that is returned tells by ``cancel_requested_at`` whether somebody asked to cancel it. Raises
    ``ClaimLost``, ``NotOwner``, ``NotRunning`` or ``JobNotFound``; then nothing was changed.
    """
    lease = settings().LEASE_SECONDS if lease_seconds is None else lease_seconds
    limits.check_seconds("lease_seconds", lease, 0.001, 7 * 86400)
    changes: dict[str, Any] = {"lease_expires_at": Now(lease)}
    if progress is not None:
        text = limits.dump_json("progress", progress, settings().MAX_RESULT_BYTES)
        changes["progress"] = JSONText(text)
    job = transition(manager, job_id, "heartbeat", holds(fencing_token, claimed_by), **changes)
    if job is None:
        raise refusal(read(manager, job_id), fencing_token, claimed_by, "heartbeat")
    return job


def renew_many(
    manager: JobManager, claims: Sequence[tuple[int, int]], *, lease_seconds: float
) -> dict[int, bool]:
    """Extend many leases, given as (id, fencing_token), in one transaction.

    Returns the ids that were extended, each with whether a cancel is requested. A missing one is lost, or another
    transaction has locked its row; ``still_held`` tells.
    """
    limits.check_seconds("lease_seconds", lease_seconds, 0.001, 7 * 86400)
    held = batch(HeldClaim(id, token) for id, token in claims)
    if not held:
        return {}
    connection = connections[manager.write_alias]
    vendor = vendor_for(connection)
    table = table_of(manager.model)
    return retry_transient(
        connection,
        lambda: vendor.renew(
            connection, table, held, lease_seconds=round(lease_seconds, 3), skip_locked=True
        ),
    )

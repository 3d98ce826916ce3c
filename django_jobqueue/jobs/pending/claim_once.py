"""pending -> running, once for each request: asked again, it answers the same claims while their lease lasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import IntegrityError, connections, transaction

from django_jobqueue.jobs import limits
from django_jobqueue.jobs.claim_request import ClaimRequest
from django_jobqueue.jobs.queryset import table_of
from django_jobqueue.vendors import Now, retry_transient, vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job

_TRIES = 3
_FORGOTTEN_AT_ONCE = 1000


def claim_once(
    manager: JobManager,
    *,
    request_id: str,
    claimed_by: str,
    worker_id: str,
    lease_seconds: float,
    limit: int = 1,
    queues: Sequence[str] | None = None,
    types: Sequence[str] | None = None,
) -> list[Job]:
    """``claim_many``, safe to repeat: an answer that was lost is given again.

    ``request_id`` (1 to 100 characters) is the caller's own name for this claim; ``claimed_by`` is the
    caller. While a claim of that name is held on an unexpired lease, what is held of it is returned, with
    ``read_at`` on each job, and nothing new is claimed; whatever the race, one set is claimed. After that the
    name is free again. A claim that found nothing leaves no trace.
    """
    limits.check_text("request_id", request_id, limits.REQUEST_ID_LENGTH)
    limits.check_text("claimed_by", claimed_by, limits.PRINCIPAL_LENGTH)
    alias = manager.write_alias
    connection = connections[alias]
    vendor = vendor_for(connection)
    requests = ClaimRequest.objects.using(alias)
    mine = requests.filter(claimed_by=claimed_by, request_id=request_id)

    def claim() -> list[Job]:
        earlier = mine.first()
        if earlier is not None and (held := _held(manager, earlier)):
            return held
        # A look first: a transaction may queue for a lock that a claim which finds nothing does not need.
        if not vendor.heads(connection, table_of(manager.model), queues):
            return []
        with transaction.atomic(using=alias):
            jobs = manager.claim_many(
                worker_id=worker_id,
                limit=limit,
                queues=queues,
                types=types,
                lease_seconds=lease_seconds,
                claimed_by=claimed_by,
            )
            if jobs:
                if earlier is not None:
                    requests.filter(pk=earlier.pk).delete()
                requests.create(
                    claimed_by=claimed_by,
                    request_id=request_id,
                    claims=[[job.pk, job.fencing_token] for job in jobs],
                    expires_at=Now(lease_seconds),
                )
        return jobs

    for _ in range(_TRIES - 1):
        try:
            return retry_transient(connection, claim)
        except IntegrityError:
            continue  # the same request is being answered elsewhere: what was claimed here has been rolled back
    return retry_transient(connection, claim)


def forget_requests(manager: JobManager) -> int:
    """Delete the records of requests whose lease is over; returns how many."""
    requests = ClaimRequest.objects.using(manager.write_alias)
    over = list(requests.filter(expires_at__lte=Now()).values_list("pk", flat=True)[:_FORGOTTEN_AT_ONCE])
    return requests.filter(pk__in=over).delete()[0] if over else 0


def _held(manager: JobManager, request: ClaimRequest) -> list[Job]:
    tokens: dict[int, int] = dict(request.claims)
    running = manager.using(manager.write_alias).filter(
        pk__in=tokens, status="running", lease_expires_at__gt=Now()
    )
    held = []
    for job in running.annotate(db_now=Now()):
        if job.fencing_token == tokens[job.pk]:
            job.read_at = vars(job)["db_now"]
            held.append(job)
    return sorted(held, key=lambda job: (-job.priority, job.pk))

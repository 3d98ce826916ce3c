"""The rule of who may act on a claim: whoever holds it now. Shared by the verbs of a running job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db.models import Q

from django_jobqueue.exceptions import ClaimLost, JobNotFound, NotOwner, NotRunning, TransitionRefused
from django_jobqueue.jobs.limits import MAX_ID
from django_jobqueue.vendors import HeldClaim

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job


def holds(fencing_token: int | None, claimed_by: str | None) -> Q:
    """The guard of an acknowledgement: the token and the principal where they are given."""
    guard = Q()
    if fencing_token is not None:
        guard &= Q(fencing_token=fencing_token)
    if claimed_by is not None:
        guard &= Q(claimed_by=claimed_by)
    return guard


def read(manager: JobManager, job_id: int) -> Job:
    """The job's row now. Raises ``JobNotFound``."""
    job = manager.using(manager.write_alias).filter(pk=job_id).first()
    if job is None:
        raise JobNotFound(job_id)
    return job


def refusal(job: Job, fencing_token: int | None, claimed_by: str | None, verb: str) -> TransitionRefused:
    """Why an acknowledgement of ``job`` changed nothing."""
    if fencing_token is not None and fencing_token != job.fencing_token:
        return ClaimLost(job.pk)
    if job.status != "running":
        return NotRunning(job.pk, job.status, verb) if fencing_token is None else ClaimLost(job.pk)
    if claimed_by is not None and claimed_by != job.claimed_by:
        return NotOwner(job.pk)
    return ClaimLost(job.pk)


def still_held(manager: JobManager, claims: Iterable[tuple[int, int]]) -> dict[int, bool]:
    """The ids of those claims, (id, fencing_token), that are current, each with whether a cancel is requested.

    Locks nothing and waits for nobody.
    """
    tokens = dict(claims)
    rows = manager.using(manager.write_alias).filter(pk__in=tokens, status="running")
    found = rows.values_list("pk", "fencing_token", "cancel_requested_at")
    return {pk: cancel is not None for pk, token, cancel in found if tokens[pk] == token}


def batch(claims: Iterable[HeldClaim]) -> list[HeldClaim]:
    """The claims that a row can have, each once (the first of equals), in the one order of locking rows."""
    distinct: dict[tuple[int, int], HeldClaim] = {}
    for claim in claims:
        if 0 < claim.id <= MAX_ID and 0 < claim.fencing_token <= MAX_ID:
            distinct.setdefault((claim.id, claim.fencing_token), claim)
    return [distinct[key] for key in sorted(distinct)]

"""running -> completed."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.db import connections

from django_jobqueue.conf import settings
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.dependents import delete_completed, has_dependents
from django_jobqueue.jobs.queryset import attempts_of, table_of, transition
from django_jobqueue.jobs.running.claims import batch, holds, read, refusal
from django_jobqueue.vendors import HeldClaim, JSONText, Now, retry_transient, vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job


def complete(
    manager: JobManager,
    job_id: int,
    *,
    fencing_token: int | None = None,
    claimed_by: str | None = None,
    result: Any = None,
) -> Job:
    """Record success, with a JSON ``result``. Repeating it with the same token returns the same job again.

    Raises ``ClaimLost``, ``NotOwner``, ``NotRunning`` or ``JobNotFound``; then nothing was changed.
    """
    job = transition(
        manager,
        job_id,
        "complete",
        holds(fencing_token, claimed_by),
        status="completed",
        result=None if result is None else JSONText(dump_result(result)),
        error="",
        lease_expires_at=None,
        finished_at=Now(),
    )
    if job is not None:
        return job
    job = read(manager, job_id)
    repeated = job.status == "completed" and job.fencing_token == fencing_token
    if repeated and claimed_by in (None, job.claimed_by):
        return job
    raise refusal(job, fencing_token, claimed_by, "complete")


def complete_many(manager: JobManager, claims: Sequence[tuple[int, int, str | None]]) -> set[int]:
    """Record success of many claims, given as (id, fencing_token, result as JSON text), in one transaction.

    Returns the ids whose claim was current; of the others nothing was changed.
    """
    return complete_claims(manager, [HeldClaim(id, token, value) for id, token, value in claims])


def complete_claims(
    manager: JobManager, claims: Iterable[HeldClaim], *, skip_locked: bool = False
) -> set[int]:
    """``complete_many`` for a worker's own claims; rows that are not to be kept are deleted instead.

    With ``skip_locked`` no other transaction is waited for: what it holds is missing from the answer as what is
    lost, and ``still_held`` tells the two apart.
    """
    held = batch(claims)
    if not held:
        return set()
    connection = connections[manager.write_alias]
    vendor = vendor_for(connection)
    table = table_of(manager.model)
    kept, unkept = kept_first(manager, held)
    done = set(
        retry_transient(connection, lambda: vendor.complete(connection, table, kept, skip_locked=skip_locked))
    )
    delete_unkept(manager, done & unkept)
    return done


def kept_first(manager: JobManager, claims: list[HeldClaim]) -> tuple[list[HeldClaim], set[int]]:
    """The claims as they are to be completed, and the ids of rows to delete only after that.

    Where rows of the project refer to jobs, a job first completes: whether its row may go is another question.
    """
    unkept = {claim.id for claim in claims if not claim.keep}
    if not unkept or not has_dependents(manager.model, attempts_of(manager).model):
        return claims, set()
    return [claim._replace(keep=True) for claim in claims], unkept


def delete_unkept(manager: JobManager, ids: set[int]) -> None:
    """Delete the rows of completed jobs that were not to be kept, as far as the project's rows allow it."""
    if ids:
        delete_completed(manager.get_queryset().using(manager.write_alias).without_payloads(), ids)


def never_ran(result: Any) -> str | None:
    """What to say of a handler that returned what it should have run: a coroutine, another awaitable, a generator."""
    if not (inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result)):
        return None
    if inspect.iscoroutine(result):
        result.close()  # else Python warns of it at a moment that nobody can foresee
    return (
        f"The handler returned a {type(result).__name__}, so nothing of it has run. An async function behind a "
        "decorator that is not async is one cause, a yield in the handler another."
    )


def dump_result(result: Any) -> str:
    """``result`` as JSON text within ``MAX_RESULT_BYTES``. Raises ``InvalidJob``."""
    return limits.dump_json("result", result, settings().MAX_RESULT_BYTES)

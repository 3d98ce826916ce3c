"""-> processing; completed -> its result, again. One run at a time gets past here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.apps import apps
from django.db import connections
from django.db.models import F, Q

from django_jobqueue.exceptions import ExecutionInDoubt, ExecutionInProgress, ResultNotStored
from django_jobqueue.ledger.insert import insert_if_absent
from django_jobqueue.vendors import Now, retry_transient

OnStale = Literal["retry", "halt"]

LONGEST_DELAY = 30.0
"""Seconds until a job that found its effect in progress looks again, at most."""

_TRIES = 6  # an entry that is taken over, fails or is pruned between two looks is looked at again


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What shall happen once: its key, and the rules of a run. ``stale_after`` is in seconds."""

    key: str
    stale_after: float
    on_stale: OnStale
    atomic: bool
    job_type: str
    owner: str


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run an effect now; ``attempts`` is its fence."""

    attempts: int


@dataclass(frozen=True, slots=True)
class Replay:
    """The effect happened before, and this came out."""

    result: Any


def entries(alias: str) -> Any:
    """The ledger in the database of ``alias``."""
    return apps.get_model("django_jobqueue", "JobExecution")._base_manager.using(alias)


def look(alias: str, key: str) -> Any | None:
    """The entry of ``key`` now, or ``None``; one statement."""
    return _read(alias, key, locking=False)


def claim(alias: str, effect: Effect, seen: Any | None) -> Claim | Replay:
    """Claim an effect before it is run, by one guarded statement; or say what came out of it before.

    ``seen`` is its entry as ``look`` saw it. Raises ``ExecutionInProgress`` when another run holds it,
    ``ExecutionInDoubt`` when one did and its end is unknown (with ``on_stale="halt"``), and
    ``ResultNotStored``. Then the effect must not be run.
    """
    return retry_transient(connections[alias], lambda: _claim(alias, effect, seen))


def replay(entry: Any) -> Replay:
    """What came out of a completed entry. Raises ``ResultNotStored``."""
    if entry.error:
        raise ResultNotStored(entry.pk, entry.error)
    return Replay(entry.result)


def _claim(alias: str, effect: Effect, entry: Any | None) -> Claim | Replay:
    for attempt in range(_TRIES):
        if attempt:
            # An insert may have met a row that the transaction's snapshot does not show: a locking read does.
            entry = _read(alias, effect.key, locking=attempt > 1)
        if entry is None:
            if _insert(alias, effect):
                return Claim(1)
            continue
        if entry.status == "completed":
            return replay(entry)
        if entry.status == "processing":
            _refuse(entry, effect)
        if _take_over(alias, effect, entry.attempts):
            return Claim(entry.attempts + 1)
    raise ExecutionInProgress(effect.key, 1.0)


def _read(alias: str, key: str, *, locking: bool) -> Any:
    found = entries(alias).filter(pk=key).annotate(db_now=Now())
    if locking and connections[alias].in_atomic_block:
        found = found.select_for_update()
    return found.first()


def _refuse(entry: Any, effect: Effect) -> None:
    """Raise unless the entry's run is over time and may be taken over."""
    expires: datetime = entry.lease_expires_at
    left = (expires - entry.db_now).total_seconds()
    if left > 0:
        delay = min(LONGEST_DELAY, max(1.0, math.ceil(left * 1000) / 1000))
        raise ExecutionInProgress(effect.key, delay)
    if effect.on_stale == "halt":
        raise ExecutionInDoubt(
            f"The effect {effect.key!r} was begun by {entry.owner} and its end was never recorded: nobody knows "
            "whether it happened. Find out, settle the execution in the admin, then retry the job.",
            key=effect.key,
        )


def _take_over(alias: str, effect: Effect, attempts: int) -> bool:
    """Take a failed or stale entry, unless it changed since it was read with this number of ``attempts``."""
    free = Q(status="failed") | Q(status="processing", lease_expires_at__lte=Now())
    taken: int = (
        entries(alias)
        .filter(free, pk=effect.key, attempts=attempts)
        .update(
            status="processing",
            attempts=F("attempts") + 1,
            job_type=effect.job_type,
            owner=effect.owner,
            lease_expires_at=Now(effect.stale_after),
        )
    )
    return taken == 1


def _insert(alias: str, effect: Effect) -> bool:
    return insert_if_absent(
        alias,
        entries(alias).model(
            idempotency_key=effect.key,
            job_type=effect.job_type,
            status="processing",
            owner=effect.owner,
            lease_expires_at=Now(effect.stale_after),
            created_at=Now(),
        ),
    )

"""processing -> completed | failed, or in doubt: how a run ended, written under its fence."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from typing import Any

from django.db import InterfaceError, OperationalError, connections
from django.db.transaction import TransactionManagementError

from django_jobqueue.conf import settings
from django_jobqueue.exceptions import (
    ExecutionInDoubt,
    ExecutionLost,
    InvalidJob,
    PermanentFailure,
    ResultNotStored,
)
from django_jobqueue.jobs import limits
from django_jobqueue.ledger.claim import Claim, Effect, entries
from django_jobqueue.ledger.transactions import in_transaction
from django_jobqueue.vendors import JSONText, Now, retry_transient

logger = logging.getLogger("django_jobqueue")

PATIENCE = 30.0
"""Seconds for which the record of an effect is tried again while the database is away."""


def record_result(alias: str, effect: Effect, claim: Claim, result: Any) -> Any:
    """The effect happened: store its result, and return it as every replay will.

    Raises ``ResultNotStored`` when it is not JSON: then the entry is completed without one. An atomic effect
    is undone instead, by ``PermanentFailure``. Raises ``ExecutionLost`` when another run took over; then
    nothing was changed.
    """
    try:
        text = limits.dump_json("result", result, settings().MAX_RESULT_BYTES)
    except Exception as error:
        # The effect has happened whatever is wrong with its result, so no error may leave the entry open.
        problem = (
            str(error) if isinstance(error, InvalidJob) else f"result: raised {type(error).__qualname__}."
        )
        if effect.atomic:
            raise PermanentFailure(f"The effect {effect.key!r} was rolled back: its {problem}") from None
        _complete(alias, effect, claim, result=None, error=limits.shorten(problem))
        raise ResultNotStored(effect.key, problem) from None
    _complete(alias, effect, claim, result=None if result is None else JSONText(text), error="")
    return json.loads(text)


def record_failure(alias: str, effect: Effect, claim: Claim, error: BaseException) -> None:
    """The run raised ``error``. Never raises: the caller lets ``error`` itself go on."""
    changes: dict[str, Any] = {"error": _text(error)}
    if _leaves_doubt(effect, error):
        changes["lease_expires_at"] = Now()
    else:
        changes.update(status="failed", lease_expires_at=None)
    try:
        _write(alias, effect, claim, **changes)
    except Exception as fault:
        logger.error(
            "The failure of an effect was not recorded (%s); it may run again when it is stale",
            type(fault).__name__,
        )


def _leaves_doubt(effect: Effect, error: BaseException) -> bool:
    """Whether nobody can tell if the effect happened: it says so, or it was cut off like by a crash."""
    if isinstance(error, ExecutionInDoubt) and not error.key:
        error.key = effect.key
        return True
    return effect.on_stale == "halt" and not isinstance(error, Exception)


def _complete(alias: str, effect: Effect, claim: Claim, **changes: Any) -> None:
    done = {"status": "completed", "lease_expires_at": None, "completed_at": Now()}
    if not _write(alias, effect, claim, **done, **changes):
        raise ExecutionLost(effect.key)


def _write(alias: str, effect: Effect, claim: Claim, **changes: Any) -> bool:
    """Write under the fence, again while the database is away; whether the entry was still this run's."""
    connection = connections[alias]
    own = entries(alias).filter(pk=effect.key, status="processing", attempts=claim.attempts)
    deadline = time.monotonic() + min(PATIENCE, effect.stale_after)
    pause = 0.05
    repeated = False
    while True:
        try:
            if not effect.atomic:
                _refuse_left_open(alias, effect)
            written = retry_transient(connection, lambda: own.update(**changes)) == 1
            return written or (repeated and _is_written(alias, effect, claim))
        except Exception as error:
            # What a dead connection raises depends on how it died, so whatever comes first gets a new one.
            lost = isinstance(error, OperationalError | InterfaceError) or not repeated
            final = isinstance(error, TransactionManagementError) or connection.in_atomic_block
            if final or not lost or time.monotonic() > deadline:
                raise
        with contextlib.suppress(Exception):
            connection.close()
        time.sleep(pause)
        pause = min(2.0, pause * 2)
        repeated = True


def _refuse_left_open(alias: str, effect: Effect) -> None:
    if in_transaction(alias):
        raise TransactionManagementError(
            f"The effect {effect.key!r} left a transaction open, in which its record would be lost. It counts as "
            "not ended."
        )


def _is_written(alias: str, effect: Effect, claim: Claim) -> bool:
    """Whether the entry is as the first try left it, whose answer got lost with the connection."""
    ended = entries(alias).filter(pk=effect.key, attempts=claim.attempts)
    return bool(ended.exclude(status="processing").exists())


def _text(error: BaseException) -> str:
    name = type(error).__qualname__
    try:
        message = str(error)
    except Exception:
        message = "(its text cannot be read)"
    return limits.shorten(f"{name}: {message}" if message else name)

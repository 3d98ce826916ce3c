"""An effect that happens once: claimed before it runs, recorded after, replayed from then on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.apps import apps
from django.db import router, transaction

from django_jobqueue.exceptions import InvalidJob, NestedExecution
from django_jobqueue.jobs import limits
from django_jobqueue.ledger.claim import Claim, Effect, OnStale, Replay, claim, look, replay
from django_jobqueue.ledger.owner import default_owner
from django_jobqueue.ledger.record import record_failure, record_result
from django_jobqueue.ledger.transactions import refuse_broken, refuse_open, refuse_other_database

STALE_AFTER = 300.0
"""Seconds after which a run that has not ended counts as dead, unless the caller says otherwise."""

_ADVICE = (
    "Call it outside of transactions (of ATOMIC_REQUESTS too); or, if the effect is only writes to this database, "
    "pass atomic=True."
)

_running: ContextVar[frozenset[str]] = ContextVar("django_jobqueue_running_effects", default=frozenset())


def once(
    key: str,
    func: Callable[..., Any],
    /,
    *args: Any,
    stale_after: float = STALE_AFTER,
    on_stale: OnStale = "retry",
    atomic: bool = False,
    **kwargs: Any,
) -> Any:
    """Call ``func(*args, **kwargs)`` unless it succeeded under ``key`` before; return its result as JSON.

    The key is claimed and committed before ``func`` is called, and its result is stored after. From then on
    every call with the key returns the stored result and calls nothing. A run that raised is taken over by
    the next call. One that did not end within ``stale_after`` seconds is taken for dead: the next call runs
    ``func`` again (``on_stale="retry"``) or raises ``ExecutionInDoubt`` until a person has settled the entry
    (``"halt"``). So choose ``stale_after`` longer than ``func`` can take.

    With ``atomic=True`` the call is one transaction: what ``func`` writes to the default database commits
    together with the record, or not at all. Use it for nothing else. Without it the call is refused inside a
    transaction, because its claim would not be committed before the effect.

    Raises ``ExecutionInProgress`` while another run has the key, ``NestedExecution`` inside an effect of the
    same key, ``ResultNotStored`` when the result is not JSON, ``ExecutionLost`` when another run took over,
    and ``InvalidJob`` (a ``ValueError``) for a key that is blank or over 255 characters.
    """
    effect = describe(key, stale_after=stale_after, on_stale=on_stale, atomic=atomic)
    return run_once(effect, partial(func, *args, **kwargs))


async def aonce(
    key: str,
    func: Callable[..., Any],
    /,
    *args: Any,
    stale_after: float = STALE_AFTER,
    on_stale: OnStale = "retry",
    **kwargs: Any,
) -> Any:
    """``once`` for async code. A plain ``func`` is called in a thread. There is no ``atomic``."""
    effect = describe(key, stale_after=stale_after, on_stale=on_stale)
    return await arun_once(effect, partial(func, *args, **kwargs))


def describe(
    key: str,
    *,
    stale_after: float,
    on_stale: OnStale,
    atomic: bool = False,
    job_type: str = "",
    owner: str = "",
) -> Effect:
    """The arguments of ``once``, checked. Raises ``InvalidJob`` naming the argument."""
    limits.check_text("key", key, limits.KEY_LENGTH)
    limits.check_seconds("stale_after", stale_after, 0.001, 7 * 86400)
    if on_stale not in ("retry", "halt"):
        raise InvalidJob("on_stale", f"{on_stale!r} is neither 'retry' nor 'halt'.")
    return Effect(
        key=key,
        stale_after=stale_after,
        on_stale=on_stale,
        atomic=atomic,
        job_type=job_type,
        owner=owner or default_owner(),
    )


def run_once(effect: Effect, func: Callable[[], Any]) -> Any:
    """``once`` for a checked effect."""
    if iscoroutinefunction(func):
        raise TypeError("func: is async; use aonce.")
    with _entered(effect):
        alias = _check_transaction(effect)
        entry = look(alias, effect.key)
        if entry is not None and entry.status == "completed":
            return replay(entry).result
        with transaction.atomic(using=alias) if effect.atomic else nullcontext():
            claimed = claim(alias, effect, entry)
            if isinstance(claimed, Replay):
                return claimed.result
            try:
                result = func()
            except BaseException as error:
                if not effect.atomic:
                    record_failure(alias, effect, claimed, error)
                raise
            return record_result(alias, effect, claimed, result)


async def arun_once(effect: Effect, func: Callable[[], Any]) -> Any:
    """``aonce`` for a checked effect. The database is asked in a thread, ``func`` is awaited here."""
    with _entered(effect):
        claimed = await sync_to_async(_claim_now)(effect)
        if isinstance(claimed, Replay):
            return claimed.result
        alias = _alias()
        try:
            result = await _call(func)
        except BaseException as error:
            await sync_to_async(record_failure)(alias, effect, claimed, error)
            raise
        return await sync_to_async(record_result)(alias, effect, claimed, result)


def _claim_now(effect: Effect) -> Claim | Replay:
    alias = _check_transaction(effect)
    return claim(alias, effect, look(alias, effect.key))


async def _call(func: Callable[[], Any]) -> Any:
    if iscoroutinefunction(func):
        return await func()
    return await sync_to_async(func)()


@contextmanager
def _entered(effect: Effect) -> Iterator[None]:
    """While an effect runs, what it calls cannot wait for it."""
    running = _running.get()
    if effect.key in running:
        raise NestedExecution(effect.key)
    token = _running.set(running | {effect.key})
    try:
        yield
    finally:
        _running.reset(token)


def _alias() -> str:
    return router.db_for_write(apps.get_model("django_jobqueue", "JobExecution"))


def _check_transaction(effect: Effect) -> str:
    """The ledger's database, if the transaction there suits the effect."""
    alias = _alias()
    what = f"once({effect.key!r})"
    if effect.atomic:
        refuse_other_database(alias, what)
        refuse_broken(alias, what)
    else:
        refuse_open(alias, what, _ADVICE)
    return alias

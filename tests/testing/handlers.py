"""Handlers of which some stand what a queue does to them and some do not. An effect is a row of ``Effect``."""

from __future__ import annotations

import threading
import time
from typing import Any

from django.db import connection, transaction

from django_jobqueue import Snooze, job_handler
from tests.support.models import Effect


def charge(name: str) -> None:
    Effect.objects.create(name=name)


def charge_once_a_key(key: str) -> None:
    """A gateway that takes a key of its callers'."""
    with _gateway:
        if not Effect.objects.filter(name=key).exists():
            Effect.objects.create(name=key)


_gateway = threading.Lock()


@job_handler("testing.naive")
def naive(job: Any, name: str) -> None:
    charge(name)


@job_handler("testing.look_then_leap")
def look_then_leap(job: Any, name: str) -> None:
    """Safe if run again, but two at once both see nothing."""
    if not Effect.objects.filter(name=name).exists():
        time.sleep(0.3)
        charge(name)


@job_handler("testing.once")
def once(job: Any, name: str) -> None:
    job.once("charge", charge, name)


@job_handler("testing.once_halt", max_retries=0)
def once_halt(job: Any, name: str) -> None:
    job.once("charge", charge, name, on_stale="halt")


@job_handler("testing.once_with_key")
def once_with_key(job: Any, name: str) -> None:
    job.once("charge", charge_once_a_key, job.effect_key("charge"))


@job_handler("testing.async_once_with_key")
async def async_once_with_key(job: Any, name: str) -> None:
    await job.aonce("charge", charge_once_a_key, job.effect_key("charge"))


@job_handler("testing.two_steps")
def two_steps(job: Any, name: str) -> None:
    job.once("first", charge_once_a_key, job.effect_key("first"))
    job.once("second", charge_once_a_key, job.effect_key("second"))


@job_handler("testing.once_atomic")
def once_atomic(job: Any, name: str) -> None:
    job.once("charge", charge, name, atomic=True)


@job_handler("testing.atomic", atomic=True)
def atomic(job: Any, name: str) -> None:
    charge(name)


@job_handler("testing.by_hand")
def by_hand(job: Any, name: str) -> None:
    with job.complete_in_transaction():
        charge(name)


@job_handler("testing.by_payload")
def by_payload(job: Any, name: str) -> None:
    """Knows a repeated effect by its payload."""
    charge_once_a_key(name)


@job_handler("testing.parent")
def parent(job: Any, children: int) -> None:
    for number in range(children):
        naive.enqueue(name=f"child {number}")


@job_handler("testing.snooze_for_ever")
def snooze_for_ever(job: Any) -> None:
    raise Snooze(0)


@job_handler("testing.break_transaction", max_retries=0)
def break_transaction(job: Any, how: str) -> None:
    charge("before")
    if how == "sql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM there_is_no_such_table")
    Effect.objects.create(pk=Effect.objects.get().pk)


@job_handler("testing.on_commit")
def on_commit(job: Any, fail: bool = False) -> None:
    try:
        with transaction.atomic():
            transaction.on_commit(lambda: naive.enqueue(name="after the commit"))
            if fail:
                raise RuntimeError
    except RuntimeError:
        pass


@job_handler("testing.on_commit_that_fails", max_retries=0)
def on_commit_that_fails(job: Any, robust: bool) -> None:
    with transaction.atomic():
        transaction.on_commit(_raise, robust=robust)


def _raise() -> None:
    raise RuntimeError("after the commit")


@job_handler("testing.raise", max_retries=0)
def raise_(job: Any, kind: str) -> None:
    charge("before")
    raise {"KeyboardInterrupt": KeyboardInterrupt, "SystemExit": SystemExit, "ValueError": ValueError}[kind](
        "boom"
    )


@job_handler("testing.async_count")
async def async_count(job: Any) -> int:
    """What an async handler sees of the test's uncommitted rows; it adds one."""
    await Effect.objects.acreate(name="async")
    return await Effect.objects.acount()

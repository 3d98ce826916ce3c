"""Handlers with effects, for the tests of the ledger."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import urllib.request
from typing import Any

from django.db import transaction
from django.db.models import F

from django_jobqueue import job_handler
from tests.support import child
from tests.support.jobs import record


@job_handler("test.once")
def once(job: Any, steps: int = 1, fail: bool = False, **options: Any) -> list[Any]:
    """Its steps each happen once; with ``fail`` its first attempt fails after them."""
    results = [job.once(f"step {step}", _step, job, step, **options) for step in range(steps)]
    if fail and job.retry_count == 0:
        raise RuntimeError("after the effects")
    return results


def _step(job: Any, step: int) -> dict[str, int]:
    record(job, f"step {step}")
    return {"step": step, "attempt": job.retry_count}


@job_handler("test.nested_once")
def nested_once(job: Any) -> Any:
    return job.once("step", lambda: job.once("step", _step, job, 0))


@job_handler("test.async_once")
async def async_once(job: Any, fail: bool = False) -> Any:
    result = await job.aonce("step", _step, job, 0)
    if fail and job.retry_count == 0:
        raise RuntimeError("after the effect")
    return result


@job_handler("test.atomic", atomic=True)
def atomic(job: Any, how: str = "return") -> Any:
    record(job, how)
    return _ENDS[how](job)


@job_handler("test.by_hand")
def by_hand(job: Any, how: str = "return") -> Any:
    if how == "lose claim":
        lose_claim(job)
    with job.complete_in_transaction() as completion:
        record(job, how)
        completion.result = _ENDS[how](job)
    if how == "return":
        raise RuntimeError("after the completion")
    return "ignored"


@job_handler("test.atomic_timeout", atomic=True, timeout=0.3, max_retries=0)
def atomic_over_time(job: Any) -> None:
    record(job, "over time")
    end = time.monotonic() + 20
    while time.monotonic() < end:
        time.sleep(0.01)


def _raise(job: Any) -> None:
    raise RuntimeError("boom")


def lose_claim(job: Any) -> None:
    """Another worker has the job from now on."""
    from django_jobqueue.models import Job

    Job.objects.filter(pk=job.id).update(fencing_token=job.fencing_token + 1)


def _nested_once(job: Any) -> Any:
    return job.once("inner", _step, job, 7, atomic=True)


def _outside_once(job: Any) -> Any:
    return job.once("inner", _step, job, 7)


def _heartbeat(job: Any) -> None:
    job.heartbeat(progress={"done": 1})


def _lose_answer(job: Any) -> None:
    transaction.on_commit(lambda: _raise(job))


_ENDS: dict[str, Any] = {
    "return": lambda job: {"done": job.retry_count},
    "nothing": lambda job: None,
    "raise": _raise,
    "not json": lambda job: {1},
    "lose claim": lambda job: None,
    "lose answer": _lose_answer,
    "once": _nested_once,
    "once outside": _outside_once,
    "heartbeat": _heartbeat,
    "nested": lambda job: job.complete_in_transaction().__enter__(),
}


def run_worker(**options: Any) -> None:
    """A worker process that knows the handlers of this module."""
    child.run_worker(**options)


@job_handler("test.charge", max_retries=100)
def charge(job: Any, url: str, tool: str, die: dict[str, str]) -> Any:
    """Charge at the gateway, with one of the tools of the docs' table; killed once at a point of it."""
    options: dict[str, Any] = {"stale_after": 1.0, "on_stale": "halt" if "halt" in tool else "retry"}
    key = job.effect_key("charge") if "effect_key" in tool else None
    die_at("before the claim", die)
    if tool == "a plain handler":
        _charge(url, key, die)
    else:
        job.once("charge", _charge, url, key, die, **options)
    die_at("after the record", die)
    return LastWords(die)


@job_handler("test.charge_atomic", max_retries=100, atomic=True)
def charge_atomic(job: Any, die: dict[str, str]) -> Any:
    """The same with an effect in the database."""
    die_at("before the claim", die)
    die_at("after the claim", die)
    record(job, "charge")
    die_at("after the effect", die)
    die_at("after the record", die)
    return LastWords(die)


def _charge(url: str, key: str | None, die: dict[str, str]) -> int:
    die_at("after the claim", die)
    request = urllib.request.Request(url, method="POST", headers={"Idempotency-Key": key} if key else {})
    with urllib.request.urlopen(request, timeout=10) as response:
        charged = int(response.read())
    die_at("after the effect", die)
    return charged


def die_at(point: str, die: dict[str, str]) -> None:
    """Be killed if this is the point that ``die`` names, and nobody was killed there yet."""
    if die["at"] != point:
        return
    with contextlib.suppress(FileExistsError):
        os.close(os.open(die["once"], os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)


class LastWords(dict[str, Any]):
    """A result that is read when the handler is over and its job not yet completed."""

    def __init__(self, die: dict[str, str]) -> None:
        self._die = die

    def items(self) -> Any:
        die_at("before the completion", self._die)
        return super().items()


@job_handler("test.add_one", max_retries=1000, atomic=True)
def add_one(job: Any, row: int) -> None:
    """One more in a row of its own and in a counter that all share."""
    from tests.support.models import Effect

    for name in (f"row {row}", "counter"):
        Effect.objects.filter(name=name).update(pid=F("pid") + 1)

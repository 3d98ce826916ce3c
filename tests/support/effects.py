"""Handlers with effects, for the tests of the ledger."""

from __future__ import annotations

import time
from typing import Any

from django_jobqueue import job_handler
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


_ENDS: dict[str, Any] = {
    "return": lambda job: {"done": job.retry_count},
    "nothing": lambda job: None,
    "raise": _raise,
    "not json": lambda job: {1},
    "lose claim": lambda job: None,
    "once": _nested_once,
    "once outside": _outside_once,
    "heartbeat": _heartbeat,
    "nested": lambda job: job.complete_in_transaction().__enter__(),
}

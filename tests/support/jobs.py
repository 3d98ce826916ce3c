"""Handlers for the tests: each leaves a trace in ``Effect``, so that a test can count what really ran."""

from __future__ import annotations

import os
import time
from typing import Any

from django_jobqueue import job_handler


@job_handler("test.noop")
def noop(job: Any, **payload: Any) -> None:
    pass


@job_handler("test.echo")
def echo(job: Any, **payload: Any) -> dict[str, Any]:
    return payload


@job_handler("test.fail", max_retries=0)
def fail(job: Any, message: str = "boom", **payload: Any) -> None:
    raise RuntimeError(message)


@job_handler("test.sleep")
def sleep(job: Any, seconds: float = 1.0) -> None:
    time.sleep(seconds)


@job_handler("test.effect")
def effect(job: Any, name: str, seconds: float = 0.0) -> None:
    from tests.support.models import Effect

    Effect.objects.create(name=name, job=job.id, fencing_token=job.fencing_token, pid=os.getpid())
    time.sleep(seconds)

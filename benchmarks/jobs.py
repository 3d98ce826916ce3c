"""The handlers that are measured: they count themselves, and sleep if asked to.

A worker that knows handlers of both kinds claims for the scarcer places, so a process registers one kind:
``BENCHMARK_HANDLERS`` is ``sync`` or ``async``.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from django.db import connection

from benchmarks import claims
from benchmarks.harness.counter import note
from benchmarks.harness.features import CAN_FORGET
from django_jobqueue import job_handler

FORGET: dict[str, Any] = {"keep_completed": False} if CAN_FORGET else {}

if os.environ.get("BENCHMARK_HANDLERS") == "async":

    @job_handler("noop")
    async def noop(job: Any) -> None:
        note()

    @job_handler("forget", **FORGET)
    async def forget(job: Any) -> None:
        note()

    @job_handler("sleep")
    async def sleep(job: Any, *, seconds: float) -> None:
        note()
        await asyncio.sleep(seconds)

else:

    @job_handler("noop")
    def noop(job: Any) -> None:
        note()

    @job_handler("forget", **FORGET)
    def forget(job: Any) -> None:
        note()

    @job_handler("sleep")
    def sleep(job: Any, *, seconds: float) -> None:
        note()
        time.sleep(seconds)

    @job_handler("query")
    def query(job: Any) -> None:
        note()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")


if path := os.environ.get("BENCHMARK_CLAIMS"):
    claims.record(path)

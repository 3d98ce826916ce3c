"""Async handlers that misuse the event loop that they share with others."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection, transaction

from django_jobqueue import job_handler, job_lock
from tests.support.jobs import record


async def _exit() -> None:
    await asyncio.sleep(0)
    sys.exit(3)


async def _interrupt() -> None:
    await asyncio.sleep(0)
    raise KeyboardInterrupt


async def _awaited_task() -> None:
    await asyncio.create_task(_exit())


async def _gather() -> None:
    await asyncio.gather(asyncio.sleep(0), _interrupt())


async def _task_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(10))
        group.create_task(_exit())


async def _left_behind() -> None:
    asyncio.get_running_loop().the_task = asyncio.create_task(_interrupt())  # type: ignore[attr-defined]


async def _callback() -> None:
    asyncio.get_running_loop().call_soon(sys.exit, 3)


async def _timer() -> None:
    asyncio.get_running_loop().call_later(0.01, _raise_interrupt)
    await asyncio.sleep(0.05)


def _raise_interrupt() -> None:
    raise KeyboardInterrupt


async def _from_a_thread() -> None:
    loop = asyncio.get_running_loop()
    thread = threading.Thread(target=loop.call_soon_threadsafe, args=[sys.exit, 3])
    thread.start()
    thread.join()
    await asyncio.sleep(0)


async def _exception_handler() -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda *_: sys.exit(3))
    loop.call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)
    loop.set_exception_handler(None)


async def _stop() -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)


HARMLESS: dict[str, Callable[[], Awaitable[None]]] = {
    "a task that is left behind": _left_behind,
    "a callback": _callback,
    "a timer": _timer,
    "a callback from a thread": _from_a_thread,
    "an exception handler": _exception_handler,
    "a stopped loop": _stop,
}
"""What leaves the job itself a success."""
ENDS_THE_JOB: dict[str, Callable[[], Awaitable[None]]] = {
    "an awaited task": _awaited_task,
    "a gathered task": _gather,
    "a task group": _task_group,
}
"""What is raised in the handler, too."""


@job_handler("loop.misuse", max_retries=0)
async def misuse(job: Any, how: str) -> None:
    await {**HARMLESS, **ENDS_THE_JOB}[how]()


@job_handler("loop.wait", timeout=0.5, max_retries=0)
async def wait(job: Any, seconds: float) -> None:
    await asyncio.sleep(seconds)


@job_handler("loop.break", max_retries=0)
async def break_loop(job: Any) -> None:
    break_selector(asyncio.get_running_loop())
    await asyncio.sleep(3600)


def break_selector(loop: Any) -> None:
    """As a closed descriptor does: the loop cannot go on."""

    def select(timeout: float) -> None:
        raise OSError("bad file descriptor")

    loop._selector.select = select


@job_handler("loop.block", timeout=0.3, max_retries=0)
async def block(job: Any, folder: str) -> None:
    """Hold its own thread until ``folder`` has a file named ``go``."""
    await sync_to_async(_until_go)(folder)


def _until_go(folder: str) -> None:
    while not (Path(folder) / "go").exists():
        time.sleep(0.02)


@job_handler("loop.effect", timeout=1.0, max_retries=0)
async def effect(job: Any, seconds: float = 0.0) -> None:
    await sync_to_async(record)(job, "effect")
    await asyncio.sleep(seconds)


def _open_raw() -> None:
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")


LEFT_OPEN: dict[str, Callable[[], object]] = {
    "atomic": lambda: transaction.atomic().__enter__(),
    "raw": _open_raw,
    "no autocommit": lambda: transaction.set_autocommit(False),
}


@job_handler("loop.leave_open", max_retries=0)
async def leave_open(job: Any, how: str) -> None:
    await sync_to_async(LEFT_OPEN[how])()
    await sync_to_async(record)(job, "in an open transaction")


@job_handler("loop.lock", max_retries=0)
async def lock(job: Any) -> None:
    """The holder of a lock needs its thread to release it, while others wait for the lock in theirs."""
    async with job_lock("the one", wait=20):
        await asyncio.sleep(0.1)


@job_handler("loop.cancel_all", max_retries=0)
async def cancel_all(job: Any) -> None:
    """Cancels all other tasks of the loop, as some frameworks do to clean up."""
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()

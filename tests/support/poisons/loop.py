"""What harms the event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from typing import Any

from tests.support.poisons.kinds import NEVER, asynchronous

_left: list[Any] = []


@asynchronous
async def task_that_exits() -> None:
    asyncio.create_task(_exits()).add_done_callback(lambda _: None)
    await asyncio.sleep(0.05)


async def _exits() -> None:
    sys.exit(3)


@asynchronous
async def task_in_a_group_that_exits() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_exits())


@asynchronous
async def loop_stopped() -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.05)


@asynchronous
async def loop_closed() -> None:
    asyncio.get_running_loop().close()


@asynchronous
async def loop_blocked() -> None:
    time.sleep(1.5)


@asynchronous
async def all_tasks_cancelled() -> None:
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(0.05)


@asynchronous
async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0.05)


@asynchronous
async def generator_left() -> None:
    async def numbers() -> Any:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)

    await anext(numbers())


@asynchronous
async def handler_of_the_loop_that_raises() -> None:
    def rude(*_: Any) -> None:
        raise RuntimeError("no line for you")

    asyncio.get_running_loop().set_exception_handler(rude)
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)


@asynchronous
async def callback_that_exits() -> None:
    asyncio.get_running_loop().call_soon(sys.exit, 3)
    await asyncio.sleep(0.05)


@asynchronous
async def executor_shut_down() -> None:
    await asyncio.get_running_loop().shutdown_default_executor()


@asynchronous
async def task_left_behind() -> None:
    _left.append(asyncio.create_task(asyncio.sleep(NEVER)))


@asynchronous
async def async_kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)

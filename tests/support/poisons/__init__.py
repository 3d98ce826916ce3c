"""Handlers that kill, hang, corrupt, exhaust, close or leave behind, for the poison drill."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from django_jobqueue import job_handler
from tests.support.poisons import ends, loop, process  # noqa: F401 - they fill the three
from tests.support.poisons.kinds import ASYNC, ISOLATED, SYNC


def _register(place: str, name: str, function: Callable[[], Any], **options: Any) -> None:
    if place == "loop":

        @job_handler(f"poison.{place}.{name}", **options)
        async def run_async(job: Any) -> Any:
            return await function()
    else:

        @job_handler(f"poison.{place}.{name}", **options)
        def run(job: Any) -> Any:
            return function()


PLACES = {"thread": SYNC, "loop": ASYNC, "isolated": ISOLATED}
for _place, _poisons in PLACES.items():
    for _name, _function in _poisons.items():
        _register(_place, _name, _function, **({"isolate": True} if _place == "isolated" else {}))


def run_worker(log: str, **options: Any) -> None:
    """``runworker`` with these handlers; what it writes goes into the file ``log``."""
    from tests.support import child

    number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for standard in (1, 2):
        os.dup2(number, standard)
    child.run_worker(**options)

"""What the processes of the ledger's races do. Each is a module-level function for ``Processes.start``."""

from __future__ import annotations

import os
import time
from typing import Any

LOST = 7
"""Exit code of a process that was told that its run, or its lock, is no longer its own."""


def leave(name: str) -> None:
    """A trace that others see at once."""
    from tests.support.models import Effect

    Effect.objects.create(name=name, pid=os.getpid())


def await_trace(name: str) -> None:
    """Until somebody leaves that trace."""
    from tests.support.models import Effect
    from tests.support.processes import wait_until

    wait_until(Effect.objects.filter(name=name).exists)


def run_each_once(barrier: Any, keys: list[str], atomic: bool) -> None:
    """Every key at the same moment as the others, until its result is there; it must be that of one run."""
    from django_jobqueue import once
    from django_jobqueue.exceptions import ExecutionInProgress
    from tests.support.models import Effect

    def effect(key: str) -> int:
        leave(key)
        return os.getpid()

    for key in keys:
        barrier.wait(30)
        while True:
            try:
                result = once(key, effect, key, atomic=atomic)
                break
            except ExecutionInProgress:
                time.sleep(0.001)
        assert result == Effect.objects.get(name=key).pid


def run_slowly(key: str) -> int:
    """Begin the effect of ``key``, and end it when ``go`` is there."""
    from django_jobqueue import once
    from django_jobqueue.exceptions import ExecutionLost

    def effect() -> str:
        leave("started")
        await_trace("go")
        return "first"

    try:
        once(key, effect, stale_after=0.5)
    except ExecutionLost:
        return LOST
    return 0


def die_in_effect(key: str, atomic: bool) -> None:
    """Be killed in the middle of an effect."""
    from django_jobqueue import once

    def effect() -> None:
        leave("written")
        os.kill(os.getpid(), 9)

    once(key, effect, stale_after=0.2, atomic=atomic)


def enter_often(name: str, times: int) -> None:
    """Go in and out of a lock; nobody else may be inside meanwhile."""
    from django_jobqueue import job_lock
    from tests.support.models import Effect

    for _ in range(times):
        with job_lock(name, wait=30) as lock:
            assert not Effect.objects.filter(name="inside").exists()
            leave("inside")
            time.sleep(0.005)
            Effect.objects.filter(name="inside").update(name=f"left {lock.fencing_token}")


def hold(name: str, lease_seconds: float) -> int:
    """Hold a lock until ``go`` is there, then say whether it is still held."""
    from django_jobqueue import job_lock
    from django_jobqueue.exceptions import LockLost

    with job_lock(name, lease_seconds=lease_seconds) as lock:
        leave(f"token {lock.fencing_token}")
        await_trace("go")
        try:
            lock.renew()
        except LockLost:
            return LOST
    return 0

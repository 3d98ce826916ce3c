"""Isolated handlers. Only the workers of the tests of isolation import them: a worker that knows one forks."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import itertools
import multiprocessing
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from django.db import connection

from django_jobqueue import Cancelled, PermanentFailure, RetryLater, Snooze, job_handler
from tests.support.child import run_worker
from tests.support.jobs import ILL_BEHAVIOUR, record

MIB = 1024 * 1024


def isolating_worker(output: str | None = None, **options: Any) -> None:
    """A ``runworker`` process that knows these handlers; ``output`` is a file that takes its standard output."""
    if output is not None:
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT), 1)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        print("before the fork")
    run_worker(**options)


@job_handler("iso.look", isolate=True)
def look(job: Any, **payload: Any) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "fork_server": os.getppid(),
        "session": os.getsid(0),
        "threads": threading.active_count(),
        "connected": connection.connection is not None,
        "payload": payload,
        "job": [job.id, job.queue, job.priority, job.retry_count, job.idempotency_key, job.meta],
        "random": random.random(),
    }


@job_handler("iso.look_async", isolate=True)
async def look_async(job: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    await job.aheartbeat(progress={"done": 1})
    return {"pid": os.getpid()}


@job_handler("iso.effect", isolate=True)
def effect(job: Any, name: str = "effect", seconds: float = 0.0) -> None:
    record(job, name)
    time.sleep(seconds)


def _fork_and_return() -> None:
    """The copy comes back here, too, and first: it must not end the job."""
    if os.fork() == 0:
        raise RuntimeError("in the copy")
    time.sleep(0.3)


def _close_everything() -> None:
    os.closerange(3, 256)


def _speak_for_the_process() -> None:
    """Write into every socket that there is, as a wild program might."""
    for number in range(3, 64):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, b'["Completed", [17]]\n')
    time.sleep(30)


def _raise(error: BaseException) -> None:
    raise error


ENDS: dict[str, Any] = {
    "exit code 0": lambda: os._exit(0),
    "exit code 3": lambda: os._exit(3),
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGSEGV": lambda: ctypes.string_at(0),
    "SystemExit": lambda: sys.exit(3),
    "error": lambda: _raise(RuntimeError("no paper\0\ud800")),
    "huge error": lambda: _raise(RuntimeError("x" * 10_000_000)),
    "permanent": lambda: _raise(PermanentFailure("never again")),
    "later": lambda: _raise(RetryLater(600)),
    "snooze": lambda: _raise(Snooze(600)),
    "cancelled": lambda: _raise(Cancelled("as asked")),
    "return": lambda: None,
    "set": lambda: {1},
    "large result": lambda: "\u00e4" * 30_000,
    "huge result": lambda: "x" * 10_000_000,
    "open transaction": ILL_BEHAVIOUR["open transaction"],
    "fork that returns twice": _fork_and_return,
    "closed sockets": _close_everything,
    "garbage": _speak_for_the_process,
    "SIGTERM that nobody sent": lambda: os.kill(os.getpid(), signal.SIGTERM),
}


@job_handler("iso.end", isolate=True)
def end(job: Any, how: str) -> Any:
    result = ENDS[how]()
    return result if how in ("set", "large result", "huge result") else None


@job_handler("iso.allocate", isolate=True, memory_limit=64 * MIB)
def allocate(job: Any, mib: int) -> int:
    return len(bytearray(mib * MIB)) // MIB


@job_handler("iso.leak", isolate=True, memory_limit=64 * MIB)
def leak(job: Any) -> None:
    kept = []
    while True:
        kept.append("x" * 1000 + str(len(kept)))


@job_handler("iso.wait_in_c", isolate=True, timeout=0.5)
def wait_in_c(job: Any) -> None:
    try:
        time.sleep(60)
    finally:
        record(job, "cleaned up")


@job_handler("iso.wait_async", isolate=True, timeout=0.5)
async def wait_async(job: Any) -> None:
    from tests.support.models import Effect

    try:
        await asyncio.sleep(60)
    finally:
        await Effect.objects.acreate(name="cleaned up", job=job.id, fencing_token=0, pid=os.getpid())


@job_handler("iso.never_yield", isolate=True, timeout=0.5)
def never_yield(job: Any) -> None:
    record(job, "started")
    sum(itertools.repeat(1))  # in C, with Python's lock held, for ever


@job_handler("iso.swallow", isolate=True, timeout=0.5)
def swallow(job: Any) -> None:
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(60)


@job_handler("iso.subprocess", isolate=True)
def start_subprocess(job: Any, then: str | None = None) -> int:
    started = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
    record(job, f"subprocess {started.pid}")
    if then is not None:
        ENDS[then]()
    return started.pid


@job_handler("iso.terminate", isolate=True)
def terminate(job: Any) -> int | None:
    """Fork a process and end it, as pools of processes do."""
    context = multiprocessing.get_context("fork")
    up = context.Event()
    started = context.Process(target=lambda: up.set() or time.sleep(60))
    started.start()
    up.wait(10)
    started.terminate()
    started.join(10)
    return started.exitcode


@job_handler("iso.until_cancelled", isolate=True)
def until_cancelled(job: Any) -> None:
    record(job, "started")
    while not job.cancel_requested:
        time.sleep(0.02)
    raise Cancelled("as asked")


@job_handler("iso.until_lost", isolate=True)
def until_lost(job: Any) -> None:
    record(job, "started")
    while not job.claim_lost:
        time.sleep(0.02)
    record(job, "saw the loss")


@job_handler("iso.report", isolate=True)
def report(job: Any) -> None:
    job.heartbeat(progress={"done": 1})


@job_handler("iso.once", isolate=True)
def once(job: Any) -> Any:
    result = job.once("charge", lambda: record(job, "charged") or {"attempt": job.retry_count})
    if job.retry_count == 0:
        os._exit(1)
    return result


@job_handler("iso.complete", isolate=True)
def complete(job: Any) -> None:
    with job.complete_in_transaction() as completion:
        record(job, "with the completion")
        completion.result = {"by": "hand"}


@job_handler("iso.print", isolate=True)
def speak(job: Any, text: str) -> None:
    print(text)


@job_handler("iso.leave_work", isolate=True)
def leave_work(job: Any, path: str, hang: bool = False) -> None:
    """Work for after the end: a thread's, an executor's, a function's of ``atexit``."""

    def write(name: str) -> None:
        time.sleep(0.2)
        (Path(path) / name).touch()

    def write_at_exit() -> None:
        write("atexit")
        if hang:
            time.sleep(600)

    atexit.register(write_at_exit)
    threading.Thread(target=write, args=["thread"]).start()
    ThreadPoolExecutor(1).submit(write, "executor")


_worker_directory = tempfile.TemporaryDirectory()


@job_handler("iso.directory", isolate=True)
def directory(job: Any) -> bool:
    return Path(_worker_directory.name).exists()


@job_handler("iso.descriptors")
def descriptors(job: Any) -> int:
    """Not isolated: how many files the worker itself has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())

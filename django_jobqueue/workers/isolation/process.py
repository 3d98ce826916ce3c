"""A job's process: reads the job, runs its handler, tells the outcome, and is gone."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import inspect
import os
import signal
import socket
import sys
import threading
import weakref
from functools import partial
from typing import Any

from django_jobqueue.registry import Handler
from django_jobqueue.workers import connections
from django_jobqueue.workers.execute import JobInterrupted, JobTimedOut, execute
from django_jobqueue.workers.isolation.memory import go_first, limited
from django_jobqueue.workers.isolation.messages import (
    CANCEL_REQUESTED,
    CLAIM_LOST,
    INTERRUPTED,
    TIMED_OUT,
    dump_outcome,
    receive_job,
)
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import LEFT_OPEN, Completed


class JobProcess:
    """One run. Has no threads but those that the handler starts, so the handler may fork as it likes.

    SIGTERM means that the worker has news; without any (a stray one) it means nothing.
    """

    def __init__(self, talk: socket.socket) -> None:
        self._talk = talk
        self._pid = os.getpid()
        self._job: RunningJob
        self._stop: type[BaseException] | None = None
        self._timeout = 0.0
        self._interruptible = False
        self._task: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def run(self) -> int:
        """The whole life; returns the exit code."""
        go_first()
        _disown()
        self._job = receive_job(self._talk)
        signal.signal(signal.SIGTERM, self._hear)
        # For a process that the handler forks (a pool's, say) it means again what it means everywhere.
        os.register_at_fork(after_in_child=partial(signal.signal, signal.SIGTERM, signal.SIG_DFL))
        for number in (
            signal.SIGINT,
            signal.SIGHUP,
        ):  # ignored so far, and what the handler starts would inherit that
            signal.signal(number, signal.SIG_DFL)
        self._hear()  # what came before
        connections.prepare()
        outcome = execute(self._job, self._call)
        if os.getpid() != self._pid:
            return 0  # a process that the handler forked came back here; the outcome is not its to tell
        if connections.leave_clean() and isinstance(outcome, Completed):
            outcome = LEFT_OPEN
        connections.close()
        self._talk.sendall(dump_outcome(outcome))
        _finish()
        return 0

    def _hear(self, *_: object) -> None:
        """Take the worker's news. As a signal's handler this runs in the midst of the job's, and may end it."""
        news = b""
        with contextlib.suppress(OSError):
            news = self._talk.recv(64, socket.MSG_DONTWAIT)
        if CANCEL_REQUESTED in news:
            self._job.note_cancel_request()
        if CLAIM_LOST in news:
            self._job.claim_lost = True
        if TIMED_OUT in news:
            self._stop = JobTimedOut
        elif INTERRUPTED in news:
            self._stop = JobInterrupted
        if self._interruptible:
            self._interrupt()

    def _interrupt(self) -> None:
        if self._stop is None:
            return
        self._interruptible = False
        if self._task is None:
            raise self._reason()
        loop, task = self._task
        loop.call_soon_threadsafe(task.cancel)

    def _reason(self) -> BaseException:
        if self._stop is JobTimedOut:
            return JobTimedOut(f"ran for more than {self._timeout:g} s")
        return JobInterrupted()

    def _call(self, handler: Handler, job: RunningJob) -> Any:
        self._timeout = handler.timeout or 0.0
        with limited(handler.memory_limit):
            if not handler.atomic:
                return self._run(handler, job)
            with job.complete_in_transaction() as completion:
                completion.result = self._run(handler, job)
            return None

    def _run(self, handler: Handler, job: RunningJob) -> Any:
        try:
            if inspect.iscoroutinefunction(handler.function):
                return asyncio.run(self._acall(handler, job))
            self._interruptible = True
            self._interrupt()
            return handler.function(job, **job.payload)
        finally:
            self._interruptible = False

    async def _acall(self, handler: Handler, job: RunningJob) -> Any:
        task = asyncio.current_task()
        assert task is not None
        self._task = asyncio.get_running_loop(), task
        self._interruptible = True
        self._interrupt()
        try:
            return await handler.function(job, **job.payload)
        except asyncio.CancelledError:
            if self._stop is not None:
                raise self._reason() from None
            raise
        finally:
            self._interruptible = False


def _disown() -> None:
    """What the worker will clean up at its own exit (temporary folders, child processes) is not this process's."""
    finalizers: Any = getattr(weakref.finalize, "_registry", {})
    for finalizer in list(finalizers):
        finalizer.atexit = False
    if "multiprocessing.process" in sys.modules:
        getattr(sys.modules["multiprocessing.process"], "_children", set()).clear()


def _finish() -> None:
    """Let threads and ``atexit`` functions finish, as an interpreter that ends; the worker kills what takes long.

    Trackers of errors and metrics send there what they have gathered.
    """
    ends: list[Any] = [getattr(threading, "_shutdown", None), getattr(atexit, "_run_exitfuncs", None)]
    for end in ends:
        if end is not None:
            with contextlib.suppress(BaseException):
                end()

"""The event loop that runs async handlers: one a process, with many jobs at once."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django_jobqueue.registry import Handler
from django_jobqueue.workers.async_threads import AsyncThreads
from django_jobqueue.workers.execute import (
    JobInterrupted,
    JobTimedOut,
    aexecute,
    outcome_of,
    released_for_longer,
)
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import LEFT_OPEN, Completed, Outcome, Released

logger = logging.getLogger("django_jobqueue.worker")

_abandoned: list[asyncio.Task[Any]] = []
"""What went on when its loop ended: kept to the end of the process, for asyncio complains of each that is dropped."""

Report = Callable[[RunningJob, Outcome], None]


class AsyncPool:
    """An event loop in a thread of its own. Starts with the first job, so it costs nothing without one."""

    def __init__(self, size: int, report: Report) -> None:
        self._report = report
        self._todo: deque[RunningJob] = deque()
        self.size = size
        self._loop: asyncio.AbstractEventLoop | None = None
        # What has begun and is not reported yet, with its task while its handler runs. Who takes a job out of here
        # reports it.
        self._tasks: dict[RunningJob, asyncio.Task[Any] | None] = {}
        self._interrupted: set[RunningJob] = set()
        self._threads = AsyncThreads()
        self._stopping = False
        self.broken = False
        """Whether its loop is gone, which only a new process mends."""

    @property
    def waiting(self) -> int:
        """How many jobs wait for a place."""
        return len(self._todo)

    @property
    def running(self) -> bool:
        """Whether handlers run."""
        return bool(self._tasks)

    def submit(self, jobs: Iterable[RunningJob]) -> None:
        """Run ``jobs`` as places get free."""
        self._todo.extend(jobs)
        self._start()
        if not self._call(self._fill):
            self._give_back()

    def take_back(self) -> list[RunningJob]:
        """The jobs that have not started."""
        waiting: list[RunningJob] = []
        with contextlib.suppress(IndexError):
            while True:
                waiting.append(self._todo.popleft())
        return waiting

    def interrupt_all(self) -> None:
        """Cancel all handlers."""
        self._call(self._cancel_all)

    def distrust_connections(self) -> None:
        """The database was lost: ask the handlers' connections whether they live before the next job."""
        self._threads.distrust_connections()

    def stop(self, timeout: float) -> None:
        """End the loop; its jobs are over or given up by now."""
        if self._loop is None:
            return
        self._threads.stop(timeout)
        self._stopping = True
        self._call(self._loop.stop)
        self._thread.join(timeout)

    def _start(self) -> None:
        if self._loop is not None:
            return
        self._loop = asyncio.new_event_loop()
        if hasattr(asyncio, "eager_task_factory"):  # a handler that never waits needs no turn of the loop
            self._loop.set_task_factory(asyncio.eager_task_factory)
        self._thread = threading.Thread(target=self._run, name="jobqueue-async", daemon=True)
        self._thread.start()

    def _call(self, function: Callable[..., object], *args: Any) -> bool:
        """Call this in the loop; whether there is one that can."""
        if self._loop is None or self.broken:
            return False
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:  # it is closed
            return False
        return True

    def _run(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        try:
            while not self._stopping:
                self._run_loop(self._loop)
        except BaseException:
            logger.critical("The event loop of the async handlers has died", exc_info=True)
        finally:
            self.broken = not self._stopping
            _abandoned.extend(asyncio.all_tasks(self._loop))
            with contextlib.suppress(Exception):
                self._loop.close()
            if self.broken:
                self._give_back()
            self._tasks.clear()  # of what is still there the worker has given up the claims

    def _run_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run it until somebody stops it."""
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as error:  # all that tasks and callbacks let out
            logger.error("%s in a task or callback of the event loop", type(error).__name__, exc_info=True)

    def _give_back(self) -> None:
        """The loop is gone: nothing that it had goes on."""
        for job in list(self._tasks):
            self._end(job, _loop_is_gone(job))
        for job in self.take_back():
            self._report(job, _loop_is_gone(job))

    def _fill(self) -> None:
        assert self._loop is not None
        while len(self._tasks) < self.size:
            try:
                job = self._todo.popleft()
            except IndexError:
                return
            self._begin(job)

    def _begin(self, job: RunningJob) -> None:
        assert self._loop is not None
        self._tasks[job] = None
        run = self._execute(job)
        try:
            task = self._loop.create_task(run)
        except BaseException as error:  # a loop that refuses it, before or after its first step
            if inspect.getcoroutinestate(run) == inspect.CORO_CREATED:
                self._end(job, outcome_of(error))
            run.close()
            return
        if not task.done():  # a task that starts eagerly may be over
            task.add_done_callback(partial(self._done, job))

    def _end(self, job: RunningJob, outcome: Outcome) -> None:
        """Report a job, once."""
        try:
            del self._tasks[job]
        except KeyError:
            return
        self._interrupted.discard(job)
        self._report(job, outcome)

    def _done(self, job: RunningJob, task: asyncio.Task[None]) -> None:
        self._end(job, Released())  # else cancelled before its first step, so the job has not begun
        if self._todo:
            self._fill()

    def _cancel_all(self) -> None:
        for job, task in list(self._tasks.items()):
            self._interrupted.add(job)
            if task is not None:  # its handler runs: no job is cut off before or after that
                task.cancel()

    async def _execute(self, job: RunningJob) -> None:
        try:
            thread = self._threads.enter()
            outcome = await aexecute(job, self._handle)
            if self._threads.started(thread):
                left_open = await self._threads.leave(thread)
                outcome = LEFT_OPEN if left_open and isinstance(outcome, Completed) else outcome
        except BaseException as error:
            outcome = outcome_of(error)
        self._end(job, outcome)

    async def _handle(self, handler: Handler, job: RunningJob) -> Any:
        if handler.timeout is None:
            return await self._uninterrupted(handler, job)
        try:
            async with asyncio.timeout(handler.timeout) as limit:
                return await self._uninterrupted(handler, job)
        except TimeoutError:
            if limit.expired():
                raise JobTimedOut(f"ran for more than {handler.timeout:g} s") from None
            raise

    async def _uninterrupted(self, handler: Handler, job: RunningJob) -> Any:
        if job in self._interrupted:
            raise JobInterrupted
        self._tasks[job] = asyncio.current_task()
        try:
            return await handler.function(job, **job.payload)
        except asyncio.CancelledError:
            if job in self._interrupted:
                raise JobInterrupted from None
            raise
        finally:
            if job in self._tasks:
                self._tasks[job] = None


def _loop_is_gone(job: RunningJob) -> Released:
    return released_for_longer(job, f"The event loop of worker {job.worker_id} has died.")

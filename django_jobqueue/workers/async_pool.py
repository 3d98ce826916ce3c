"""The event loop that runs async handlers: one a process, with many jobs at once."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, wait
from typing import Any

from asgiref.sync import sync_to_async
from django.db.backends.signals import connection_created

from django_jobqueue.registry import Handler
from django_jobqueue.workers import connections
from django_jobqueue.workers.execute import (
    JobInterrupted,
    JobTimedOut,
    aexecute,
    outcome_of,
    released_for_longer,
)
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Outcome, Released

logger = logging.getLogger("django_jobqueue.worker")

Report = Callable[[RunningJob, Outcome], None]


class AsyncPool:
    """An event loop in a thread of its own. Starts with the first job, so it costs nothing without one."""

    def __init__(self, size: int, report: Report) -> None:
        self._report = report
        self._todo: deque[RunningJob] = deque()
        self.size = size
        self._loop: asyncio.AbstractEventLoop | None = None
        # What has begun and is not reported yet; who takes a job out of here reports it.
        self._tasks: dict[RunningJob, asyncio.Task[None] | None] = {}
        self._interrupted: set[RunningJob] = set()
        self._uses_database = False
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
        """The database was lost: ask the handlers' connection whether it lives before the next job."""
        if self._uses_database:
            self._call_coroutine(sync_to_async(connections.distrust)())

    def stop(self, timeout: float) -> None:
        """End the loop; its jobs are over or given up by now."""
        if self._loop is None:
            return
        if self._uses_database and (closed := self._call_coroutine(sync_to_async(connections.close)())):
            wait([closed], timeout=timeout)
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

    def _call_coroutine(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any] | None:
        try:
            if self._loop is None or self.broken:
                raise RuntimeError
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError:  # it is closed
            coroutine.close()
            return None

    def _run(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        connection_created.connect(self._note_connection, weak=False, dispatch_uid="django_jobqueue.async")
        try:
            while not self._stopping:
                self._run_loop(self._loop)
        except BaseException:
            logger.critical("The event loop of the async handlers has died", exc_info=True)
        finally:
            self.broken = not self._stopping
            connection_created.disconnect(dispatch_uid="django_jobqueue.async")
            with contextlib.suppress(Exception):
                self._loop.close()
            self._give_back()

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

    def _note_connection(self, **_: Any) -> None:
        name = threading.current_thread().name
        if not name.startswith("jobqueue-") and threading.current_thread() is not threading.main_thread():
            self._uses_database = True

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
            self._tasks[job] = task
            task.add_done_callback(self._done)

    def _end(self, job: RunningJob, outcome: Outcome) -> None:
        """Report a job, once."""
        try:
            del self._tasks[job]
        except KeyError:
            return
        self._interrupted.discard(job)
        self._report(job, outcome)

    def _done(self, task: asyncio.Task[None]) -> None:
        if self._todo:
            self._fill()

    def _cancel_all(self) -> None:
        for job, task in list(self._tasks.items()):
            if task is not None:
                self._interrupted.add(job)
                task.cancel()

    async def _execute(self, job: RunningJob) -> None:
        try:
            if self._uses_database:
                await sync_to_async(connections.prepare)()
            outcome = await aexecute(job, self._handle)
            if self._uses_database:
                await sync_to_async(connections.leave_clean)()
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
        try:
            return await handler.function(job, **job.payload)
        except asyncio.CancelledError:
            if job in self._interrupted:
                raise JobInterrupted from None
            raise


def _loop_is_gone(job: RunningJob) -> Released:
    return released_for_longer(job, f"The event loop of worker {job.worker_id} has died.")

"""The event loop that runs async handlers: one a process, with many jobs at once."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, wait
from typing import Any

from asgiref.sync import sync_to_async
from django.db.backends.signals import connection_created

from django_jobqueue.registry import Handler
from django_jobqueue.workers import connections
from django_jobqueue.workers.execute import JobInterrupted, JobTimedOut, aexecute, outcome_of
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Outcome

Report = Callable[[RunningJob, Outcome], None]


class AsyncPool:
    """An event loop in a thread of its own. Starts with the first job, so it costs nothing without one."""

    def __init__(self, size: int, report: Report) -> None:
        self._report = report
        self._todo: deque[RunningJob] = deque()
        self.size = size
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[asyncio.Task[None], RunningJob] = {}
        self._interrupted: set[int] = set()
        self._uses_database = False

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
        self._call(self._fill)

    def take_back(self) -> list[RunningJob]:
        """The jobs that have not started."""
        waiting: list[RunningJob] = []
        with contextlib.suppress(IndexError):
            while True:
                waiting.append(self._todo.popleft())
        return waiting

    def interrupt_all(self) -> None:
        """Cancel all handlers."""
        if self._loop is not None:
            self._call(self._cancel_all)

    def distrust_connections(self) -> None:
        """The database was lost: ask the handlers' connection whether it lives before the next job."""
        if self._loop is not None and self._uses_database:
            self._call_coroutine(sync_to_async(connections.distrust)())

    def stop(self, timeout: float) -> None:
        """End the loop; its jobs are over or given up by now."""
        if self._loop is None:
            return
        if self._uses_database:
            closed = self._call_coroutine(sync_to_async(connections.close)())
            wait([closed], timeout=timeout)
        self._call(self._loop.stop)
        self._thread.join(timeout)

    def _call(self, function: Callable[..., object], *args: Any) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            if hasattr(asyncio, "eager_task_factory"):  # a handler that never waits needs no turn of the loop
                self._loop.set_task_factory(asyncio.eager_task_factory)
            self._thread = threading.Thread(target=self._run, name="jobqueue-async", daemon=True)
            self._thread.start()
        self._loop.call_soon_threadsafe(function, *args)

    def _call_coroutine(self, coroutine: Coroutine[Any, Any, Any]) -> Future[Any]:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _run(self) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        connection_created.connect(self._note_connection, weak=False, dispatch_uid="django_jobqueue.async")
        try:
            self._loop.run_forever()
        finally:
            connection_created.disconnect(dispatch_uid="django_jobqueue.async")
            self._loop.close()

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
            task = self._loop.create_task(self._execute(job))
            if not task.done():  # a task that starts eagerly may be over
                self._tasks[task] = job
                task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if self._todo:
            self._fill()

    def _cancel_all(self) -> None:
        for task, job in list(self._tasks.items()):
            self._interrupted.add(job.id)
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
        self._report(job, outcome)

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
            if job.id in self._interrupted:
                self._interrupted.discard(job.id)
                raise JobInterrupted from None
            raise

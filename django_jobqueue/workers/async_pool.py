"""The event loop that runs async handlers: one a process, with many jobs at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
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

    def __init__(self, report: Report) -> None:
        self._report = report
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[asyncio.Task[None], RunningJob] = {}
        self._interrupted: set[int] = set()
        self._uses_database = False

    def submit(self, job: RunningJob) -> None:
        """Run ``job`` now."""
        self._call(self._start, job)

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

    def _start(self, job: RunningJob) -> None:
        assert self._loop is not None
        task = self._loop.create_task(self._execute(job))
        self._tasks[task] = job
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)

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
        try:
            async with asyncio.timeout(handler.timeout) as limit:
                return await handler.function(job, **job.payload)
        except TimeoutError:
            if limit.expired():
                raise JobTimedOut(f"ran for more than {handler.timeout:g} s") from None
            raise
        except asyncio.CancelledError:
            if job.id in self._interrupted:
                self._interrupted.discard(job.id)
                raise JobInterrupted from None
            raise

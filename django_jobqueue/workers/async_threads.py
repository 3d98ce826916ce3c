"""The threads of async jobs: what a handler calls by ``sync_to_async`` runs there, its queries included."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor, wait

from asgiref.sync import SyncToAsync

from django_jobqueue.workers import connections
from django_jobqueue.workers.connections import JobThread

_SPARE = 10  # threads without a job that are kept with their connections; what a burst needed beyond goes


_current = SyncToAsync.thread_sensitive_context
_executors = SyncToAsync.context_to_thread_executor


class AsyncThreads:
    """One for each async job that needs one, so that no job waits for another's call or is in its transaction."""

    def __init__(self) -> None:
        self._idle: list[tuple[int, Executor]] = []
        self._leaving: set[Executor] = set()
        self._epoch = 0

    def enter(self) -> JobThread:
        """Give the current task, a job's, a thread."""
        thread = JobThread(self, self._epoch)
        _current.set(thread)
        if self._idle:
            epoch, executor = self._idle.pop()
            _executors[thread] = executor
            if epoch != self._epoch:
                executor.submit(connections.distrust)
            executor.submit(connections.prepare)  # before all that the handler has it do
        return thread

    def started(self, thread: JobThread) -> bool:
        """Whether the job has asked for it, or was given one to use again: it has to be left then."""
        return bool(_executors) and thread in _executors

    async def leave(self, thread: JobThread) -> bool:
        """Clean up behind the job, once its last call has returned; whether it left a transaction open."""
        executor = _executors.pop(thread)
        self._leaving.add(executor)
        left_open = await _certainly(asyncio.wrap_future(executor.submit(connections.leave_clean)))
        self._leaving.discard(executor)
        if len(self._idle) < _SPARE:
            self._idle.append((thread.epoch, executor))
        else:
            executor.submit(connections.close)
            executor.shutdown(wait=False)
        return left_open

    def distrust_connections(self) -> None:
        """The database was lost: ask the connections whether they live before the next job."""
        self._epoch += 1

    def stop(self, timeout: float) -> None:
        """Close the connections and end the threads, those of jobs that were given up once these let them go."""
        busy = [
            executor
            for thread, executor in list(_executors.items())
            if isinstance(thread, JobThread) and thread.owner is self
        ]
        connections.close_of_ended_threads()  # of jobs that had no thread here; upkeep closed the earlier ones
        executors = [*self._take_idle(), *self._leaving, *busy]
        wait([executor.submit(connections.close) for executor in executors], timeout)
        for executor in executors:
            executor.shutdown(wait=False)

    def _take_idle(self) -> Iterator[Executor]:
        with contextlib.suppress(IndexError):
            while True:
                yield self._idle.pop()[1]


async def _certainly(future: asyncio.Future[bool]) -> bool:
    """Wait to the end, whatever cancels this task: its job is over, and what it did is done."""
    while True:
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if future.cancelled():
                raise

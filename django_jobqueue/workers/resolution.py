"""How a worker finds the handlers of jobs whose types nobody registered, tasks above all.

That may import modules of the project, which can take any time and raise anything: it happens in threads of its own.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

from django_jobqueue import registry
from django_jobqueue.workers import connections
from django_jobqueue.workers.execute import outcome_of, unknown_type
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Outcome


class Resolution:
    """Jobs whose handlers are looked for, each type in a thread of its own, and what was found.

    ``report`` gets the outcome of a job that has no handler here or whose import raised, ``wake`` is called when
    a handler was found; both in the thread that looked.
    """

    def __init__(self, report: Callable[[RunningJob, Outcome], None], wake: Callable[[], None]) -> None:
        self._report = report
        self._wake = wake
        self._found: dict[str, bool] = {}
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[RunningJob]] = {}
        self._ready: deque[RunningJob] = deque()

    def is_async(self, type: str) -> bool | None:
        """Whether jobs of ``type`` run on the event loop; ``None`` where that is not known yet."""
        handler = registry.get(type)
        return self._found.get(type) if handler is None else handler.is_async

    @property
    def looking(self) -> int:
        """How many handlers are looked for: one job of each such type takes no place from others."""
        return len(self._waiting)

    def submit(self, jobs: Iterable[RunningJob]) -> None:
        """Look for the handlers of ``jobs``."""
        for job in jobs:
            with self._lock:
                waiting = self._waiting.get(job.type)
                if waiting is not None:
                    waiting.append(job)
                    continue
                self._waiting[job.type] = deque([job])
            name = f"jobqueue-resolve-{job.type}"
            threading.Thread(target=self._look, args=(job.type,), name=name, daemon=True).start()

    def ready(self) -> list[RunningJob]:
        """The jobs whose handlers were found since the last call."""
        return [self._ready.popleft() for _ in range(len(self._ready))]

    def take_back(self) -> list[RunningJob]:
        """The jobs that have not started; what is found for them from now on is of no interest."""
        with self._lock:
            waiting = [job for jobs in self._waiting.values() for job in jobs]
            for jobs in self._waiting.values():
                jobs.clear()
        return waiting + self.ready()

    def _look(self, type: str) -> None:
        while True:
            with self._lock:
                if not self._waiting[type]:
                    del self._waiting[type]
                    break
                job = self._waiting[type][0]
            outcome = self._resolve(job)
            with self._lock:
                if not self._waiting[type] or self._waiting[type][0] is not job:
                    continue  # taken back meanwhile
                self._waiting[type].popleft()
                if outcome is None:
                    self._ready.append(job)
            if outcome is None:
                self._wake()
            else:
                self._report(job, outcome)
        connections.close()

    def _resolve(self, job: RunningJob) -> Outcome | None:
        try:
            handler = registry.resolve(job)
        except BaseException as error:
            return outcome_of(error)
        if handler is None:
            return unknown_type(job)
        self._found[job.type] = handler.is_async
        return None

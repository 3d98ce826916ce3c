"""Jobs that were lost with a worker, one of which may have ended it: they run in processes of their own.

While one is held, no handler begins inside the worker: a job that kills its process then takes nobody along.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Released

_DELAY = 1.0  # seconds for which a job is given back while handlers run inside the worker
_PATIENCE = 60.0  # seconds after which a job is not given back any more for handlers that do not end


class Quarantine:
    """Whether a job has to be isolated, and whether it may begin now. ``enabled`` says if this worker isolates."""

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled
        self.active = False
        """While it is, every job that begins is isolated."""
        self._until = 0.0
        self._refused_since: float | None = None

    def isolates(self, job: RunningJob) -> bool:
        """Whether ``job`` needs a process of its own whatever its handler says."""
        return self.enabled and (self.active or job.quarantined)

    def admit(
        self, jobs: list[RunningJob], *, busy: Callable[[], bool]
    ) -> tuple[list[RunningJob], list[RunningJob]]:
        """Which of the claimed ``jobs`` to run, and which to give back (``later``).

        ``busy`` tells whether handlers run inside the worker, which could end it.
        """
        if not self.enabled or not any(job.quarantined for job in jobs):
            return jobs, []
        self.active = True  # first: what begins from now on is isolated
        now = time.monotonic()
        self._until = now + 3 * _DELAY
        if not busy():
            self._refused_since = None
            return jobs, []
        if self._refused_since is None:
            self._refused_since = now
        if now - self._refused_since > _PATIENCE:
            return jobs, []
        return [job for job in jobs if not job.quarantined], [job for job in jobs if job.quarantined]

    def waits(self, held: Callable[[], Iterable[RunningJob]]) -> bool:
        """Whether such a job is among ``held`` or was given back a moment ago."""
        if self.active and time.monotonic() > self._until:
            self.active = any(job.quarantined for job in held())
        return self.active


def later() -> Released:
    """Give a job back until no handler runs inside the worker; its reason of failure stays."""
    return Released(_DELAY, None)

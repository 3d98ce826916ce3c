"""The claims that this process holds, and their renewal at a third of the lease."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from django_jobqueue.workers.job import RunningJob

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager

logger = logging.getLogger("django_jobqueue.worker")


class Leases:
    """Every claimed job from the claim until the database took its end."""

    def __init__(self, manager: JobManager, lease_seconds: float) -> None:
        self._manager = manager
        self._lease_seconds = lease_seconds
        self._held: dict[int, tuple[RunningJob, float]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def jobs(self) -> list[RunningJob]:
        """The held jobs."""
        return [job for job, _ in self._held.values()]

    def hold(self, jobs: list[RunningJob]) -> None:
        """These were claimed just now."""
        due = time.monotonic() + self._lease_seconds / 3
        for job in jobs:
            self._held[job.id] = (job, due)

    def drop(self, job: RunningJob) -> None:
        """The database took or refused the end of this one."""
        held = self._held.get(job.id)
        if held is not None and held[0].fencing_token == job.fencing_token:
            del self._held[job.id]

    def next_due(self) -> float:
        """When the next renewal is due, on the monotonic clock; infinity without claims."""
        return min((due for _, due in self._held.values()), default=float("inf"))

    def renew(self) -> None:
        """Renew what is due. Jobs learn of a cancel request, and of the loss of their claim."""
        now = time.monotonic()
        due = [job for job, when in self._held.values() if when <= now and not job.claim_lost]
        if not due:
            return
        current = self._manager.renew_many(
            [(job.id, job.fencing_token) for job in due], lease_seconds=self._lease_seconds
        )
        for job in due:
            if job.id not in current:
                job.claim_lost = True
                self._held[job.id] = (job, float("inf"))
                logger.warning("The claim on job %s (%s) was lost while it runs", job.id, job.type)
                continue
            self._held[job.id] = (job, now + self._lease_seconds / 3)
            if current[job.id]:
                job.note_cancel_request()

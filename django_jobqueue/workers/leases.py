"""The claims that this process holds, and their renewal at a third of the lease."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from django_jobqueue.jobs.running.claims import still_held
from django_jobqueue.workers.job import RunningJob

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager

logger = logging.getLogger("django_jobqueue.worker")

_LOCKED_AGAIN = 1.0  # seconds after which a renewal that a row lock prevented is tried again


class Leases:
    """Every claimed job from the claim until the database answered its end."""

    def __init__(self, manager: JobManager, lease_seconds: float) -> None:
        self._manager = manager
        self._lease_seconds = lease_seconds
        # In the order in which they fall due: what is held or renewed goes to the end, due latest.
        self._held: dict[tuple[int, int], tuple[float, RunningJob]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def jobs(self) -> list[RunningJob]:
        """The held jobs."""
        return [job for _, job in self._held.values()]

    def hold(self, jobs: Iterable[RunningJob]) -> None:
        """These were claimed or renewed just now."""
        due = time.monotonic() + self._lease_seconds / 3
        for job in jobs:
            self._held[job.id, job.fencing_token] = (due, job)

    def drop(self, job: RunningJob) -> None:
        """The database answered the end of this one."""
        self._held.pop((job.id, job.fencing_token), None)

    def next_due(self) -> float:
        """When the next renewal is due, on the monotonic clock; infinity without claims."""
        for due, _ in self._held.values():
            return due
        return float("inf")

    def renew(self) -> None:
        """Renew what is due. Jobs learn of a cancel request, and of the loss of their claim."""
        now = time.monotonic()
        due = []
        for when, job in self._held.values():
            if when > now:
                break
            due.append(job)
        if not due:
            return
        asked = [job for job in due if not job.claim_lost]
        current = self._manager.renew_many(
            [(job.id, job.fencing_token) for job in asked], lease_seconds=self._lease_seconds
        )
        missing = [job for job in asked if job.id not in current and not job.completed]
        locked: dict[int, bool] = {}
        if missing:
            locked = still_held(self._manager, [(job.id, job.fencing_token) for job in missing])
        for job in due:
            del self._held[job.id, job.fencing_token]
        self.hold(job for job in due if job.id not in locked)
        if locked:  # by their handlers' transactions, most likely: first in line, and asked again soon
            again = time.monotonic() + min(_LOCKED_AGAIN, self._lease_seconds / 10)
            first = {(job.id, job.fencing_token): (again, job) for job in due if job.id in locked}
            self._held = {**first, **self._held}
        current = {**current, **locked}
        for job in asked:
            if job.completed:
                continue  # by its handler's transaction; its outcome is on the way here
            if job.id not in current:
                job.claim_lost = True
                logger.warning("The claim on job %s (%s) was lost while it runs", job.id, job.type)
            elif current[job.id]:
                job.note_cancel_request()

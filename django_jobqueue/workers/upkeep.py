"""What every worker does for the whole queue on a timer, busy or idle, and never as a job: promote, reap, and
forget the requests whose lease is over.
"""

from __future__ import annotations

import logging
import random
import time
from typing import TYPE_CHECKING

from django_jobqueue.conf import settings
from django_jobqueue.jobs.pending.claim_once import forget_requests
from django_jobqueue.jobs.running.reap import list_stale
from django_jobqueue.workers import connections

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager

logger = logging.getLogger("django_jobqueue.worker")

_REAP_AT_ONCE = 500
_TOLD_AT = {2**power for power in range(2, 30)}  # looks in vain, ever more of them


class Upkeep:
    """The two timers. Each has a jitter, so that many workers do not come at the same moment."""

    def __init__(self, manager: JobManager) -> None:
        self._manager = manager
        self._promote_at = 0.0
        self._reap_at = 0.0
        self._passed_over: dict[int, int] = {}

    def next_due(self) -> float:
        """When the next turn is due, on the monotonic clock."""
        return min(self._promote_at, self._reap_at)

    def run(self) -> int:
        """Do what is due; returns how many jobs may have become pending by it."""
        now = time.monotonic()
        changed = 0
        if now >= self._promote_at:
            changed += self.promote()
        if now >= self._reap_at:
            reaped = self._manager.reap(limit=_REAP_AT_ONCE)
            if len(reaped) == _REAP_AT_ONCE:
                # There may be more, as many as a dead worker held: half of the time stays for claims and renewals.
                self._reap_at = time.monotonic() + (time.monotonic() - now)
            else:
                self._reap_at = now + settings().REAP_INTERVAL * _jitter()
                self._note_passed_over()
            for job in reaped:
                logger.warning("Job %s (%s) was taken from a lost worker: %s", job.pk, job.type, job.status)
            changed += len(reaped)
            forget_requests(self._manager)
            connections.close_of_ended_threads()  # of the last jobs before a pause
        return changed

    def _note_passed_over(self) -> None:
        """Tell of stale jobs that no look could reap: somebody else's transaction holds their rows."""
        left = list_stale(self._manager).values_list("pk", flat=True)[:_REAP_AT_ONCE]
        self._passed_over = {job_id: self._passed_over.get(job_id, 0) + 1 for job_id in left}
        stuck = [job_id for job_id, looks in self._passed_over.items() if looks in _TOLD_AT]
        if stuck:
            logger.warning(
                "%d jobs without a worker cannot be taken back: transactions hold their rows (job %s and others)",
                len(stuck),
                stuck[0],
            )

    def promote(self) -> int:
        """Move due scheduled jobs to pending now."""
        promoted = self._manager.promote()
        self._promote_at = time.monotonic() + settings().PROMOTE_INTERVAL * _jitter()
        return promoted


def _jitter() -> float:
    return 0.8 + 0.2 * random.random()  # never later than promised

"""The outcomes that the worker owes the database. None is dropped before the database took or refused it."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from django.db import DatabaseError, DataError, IntegrityError, connections

from django_jobqueue import signals
from django_jobqueue.exceptions import JobNotFound, TransitionRefused
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.jobs.running.claims import still_held
from django_jobqueue.vendors import HeldClaim
from django_jobqueue.workers.failure_log import log_failure
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.keeping import is_kept, rows_stay
from django_jobqueue.workers.outcome import Completed, Failed, Outcome, Released, Written

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager

logger = logging.getLogger("django_jobqueue.worker")

BATCH = 500  # outcomes in one write, and jobs in one claim
DELAY = 0.005  # seconds that an outcome waits for company, at most
_LOCKED_AGAIN = 0.25  # seconds after which a completion that a row lock prevented is tried again
_TRIES = 3  # failed writes after which an end is suspected to be refused, if the job's lease can be renewed

Done = tuple[RunningJob, Completed]


def send_finished(job: RunningJob, outcome: str) -> None:
    """Send ``job_finished`` here and now."""
    signals.send(signals.job_finished, Job, job=job, outcome=outcome)


class Acks:
    """Outcomes from the threads, written by the worker's own thread, each under its fence.

    Completions go in batches (``completions``, ``settle``), everything else one by one (``flush_others``).
    ``settled`` is called with each job whose end the database took or refused; until then it is owed. ``send`` is
    called with each end that the database took, and its name.
    """

    def __init__(
        self,
        manager: JobManager,
        settled: Callable[[RunningJob], None],
        send: Callable[[RunningJob, str], None] = send_finished,
        *,
        lease_seconds: float = 30.0,
    ) -> None:
        self._manager = manager
        self._send = send
        self._lease_seconds = lease_seconds
        self._settled = settled
        self._completions: deque[Done] = deque()
        self._others: deque[tuple[RunningJob, Failed | Released | Written]] = deque()
        # Completions whose rows another transaction holds, and when to try them again.
        self._locked: list[Done] = []
        self._locked_until = 0.0
        self._oldest = 0.0
        self._keep: dict[tuple[str, str], bool] = {}
        self._failed_writes: Counter[int] = Counter()  # by the first job of what could not be written
        self.counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._completions) + len(self._others) + len(self._locked)

    def add(self, job: RunningJob, outcome: Outcome) -> bool:
        """Owe the database an outcome; whether nothing was owed before. Any thread may call this."""
        first = not self._completions and not self._others
        if first:
            self._oldest = time.monotonic()
        if isinstance(outcome, Completed):
            self._completions.append((job, outcome))
        else:
            self._others.append((job, outcome))
        return first

    def due(self) -> float:
        """When the outcomes have to be written, on the monotonic clock; infinity when none is owed."""
        if not self._completions and not self._others:
            return self._locked_until if self._locked else float("inf")
        return self._oldest if len(self._completions) >= BATCH else self._oldest + DELAY

    def completions(self) -> list[Done]:
        """The completions to write next. They stay owed until ``settle``."""
        if self._locked and time.monotonic() >= self._locked_until:
            self._completions.extend(self._locked)
            self._locked.clear()
        return [self._completions[index] for index in range(min(BATCH, len(self._completions)))]

    def claims(self, batch: list[Done]) -> list[HeldClaim]:
        """A batch as the claims that it completes."""
        return [
            HeldClaim(job.id, job.fencing_token, outcome.result, self._keeps(job)) for job, outcome in batch
        ]

    def _keeps(self, job: RunningJob) -> bool:
        try:
            stay = self._keep[job.type, job.queue]
        except KeyError:
            stay = self._keep[job.type, job.queue] = rows_stay(job.type, job.queue)
        return is_kept(job, rows_stay=stay)

    def settle(self, batch: list[Done], taken: Collection[int]) -> None:
        """The database answered: it took the completions in ``taken``, the others of ``batch`` it refused."""
        locked: dict[int, bool] = {}
        all_taken = len(taken) == len(batch)
        if not all_taken:  # asked first: if that fails, all of the batch stays owed
            refused = [job for job, _ in batch if job.id not in taken]
            locked = still_held(self._manager, [(job.id, job.fencing_token) for job in refused])
            refused = [job for job in refused if job.id not in locked]
            taken = {*taken, *self._already_completed(refused, or_gone=True)}
        self._oldest = time.monotonic()
        self._failed_writes.clear()
        for job, outcome in batch:
            self._completions.popleft()
            if job.id in locked:
                self._locked.append((job, outcome))
                self._locked_until = time.monotonic() + _LOCKED_AGAIN
            else:
                self._settled(job)
        batch = [(job, outcome) for job, outcome in batch if job.id not in locked]
        if all_taken and not signals.job_finished.receivers:
            self.counts["completed"] += len(batch)
            return
        for job, outcome in batch:
            self._tell(job, outcome, "completed" if job.id in taken else "lost")

    def flush(self) -> None:
        """Write all that is owed."""
        self.flush_others()
        while batch := self.completions():
            try:
                self.settle(batch, self._manager.complete_claims(self.claims(batch), skip_locked=True))
            except DatabaseError as error:
                if not self.refuses(error, batch):
                    raise
                self.flush_carefully(batch)

    def refuses(self, error: DatabaseError, batch: list[Done]) -> bool:
        """Whether to write ``batch`` one by one after ``error``: the database refuses an end in it, or seems to.

        Some refusals look like an outage (a result past ``max_allowed_packet``, an error that a trigger raises),
        so an outage is believed for the first tries.
        """
        return bool(batch) and self._seems_refused(error, batch[0][0])

    def _seems_refused(self, error: DatabaseError, job: RunningJob) -> bool:
        self._failed_writes[job.id] += 1
        return isinstance(error, DataError | IntegrityError) or self._failed_writes[job.id] >= _TRIES

    def _require_database(self, job: RunningJob) -> None:
        """Raises what the database raises for any write to this job's row. Else the job's end is what it refuses."""
        connections[self._manager.write_alias].close_if_unusable_or_obsolete()
        self._manager.renew_many([(job.id, job.fencing_token)], lease_seconds=self._lease_seconds)

    def flush_others(self) -> int:
        """Write what is no completion; returns how many there were."""
        written = 0
        while self._others:
            job, outcome = self._others[0]
            try:
                label = self._write(job, outcome)
            except DatabaseError as error:
                if not self._seems_refused(error, job):
                    raise
                label = self._write_placeholder(job, outcome, error)
            self._failed_writes.pop(job.id, None)
            self._others.popleft()
            self._settled(job)
            self._tell(job, outcome, label)
            written += 1
        return written

    def flush_carefully(self, batch: list[Done]) -> None:
        """Write a batch one by one because the database cannot hold one of its results; that job fails."""
        for job, outcome in batch:
            try:
                taken = self._manager.complete_claims(self.claims([(job, outcome)]), skip_locked=True)
            except DatabaseError as error:
                self._require_database(job)
                logger.error("The result of job %s cannot be stored: %s", job.id, type(error).__name__)
                self._completions.popleft()
                self.add(
                    job, Failed(Failure(error="The database refused the handler's result.", retryable=False))
                )
                self.flush_others()
            else:
                self.settle([(job, outcome)], taken)

    def _already_completed(self, jobs: list[RunningJob], *, or_gone: bool) -> set[int]:
        """Those that an earlier write ended whose answer got lost: completed under the same fence.

        ``or_gone``: or deleted by their completion, where completed jobs are not kept.
        """
        asked = {job.id: job for job in jobs}
        rows = self._manager.using(self._manager.write_alias).filter(pk__in=asked)
        found = {
            pk: (token, status) for pk, token, status in rows.values_list("pk", "fencing_token", "status")
        }
        return {
            id
            for id, job in asked.items()
            if found.get(id) == (job.fencing_token, "completed")
            or (or_gone and id not in found and not self._keeps(job))
        }

    def _write(self, job: RunningJob, outcome: Failed | Released | Written) -> str:
        if isinstance(outcome, Written):
            return "completed"
        token = job.fencing_token
        try:
            if isinstance(outcome, Released):
                after = self._manager.release(
                    job.id, fencing_token=token, delay=outcome.delay, reason=outcome.reason
                )
                return "cancelled" if after.status == "cancelled" else "released"
            after = self._manager.retry_or_fail(job.id, outcome.failure, fencing_token=token)
            return after.status if after.status in ("failed", "cancelled") else "retried"
        except (TransitionRefused, JobNotFound):
            return "completed" if self._already_completed([job], or_gone=False) else "lost"

    def _write_placeholder(
        self, job: RunningJob, outcome: Failed | Released | Written, error: DatabaseError
    ) -> str:
        """The end without the texts that the database may have refused; if it takes none, the lease ends the job."""
        self._require_database(job)
        logger.error("The end of job %s cannot be stored: %s", job.id, type(error).__name__)
        if isinstance(outcome, Failed):
            known = outcome.failure
            text = "The database refused the error of this attempt."
            placeholder = replace(known, error=text, exception_class="", traceback="")
            try:
                return self._write(job, Failed(placeholder))
            except DatabaseError:
                self._require_database(job)
        logger.error("Job %s is left to its lease: the database takes no end of it", job.id)
        return "lost"

    def _tell(self, job: RunningJob, outcome: Outcome, label: str) -> None:
        self.counts[label] += 1
        if label == "lost":
            logger.warning(
                "Job %s (%s) was taken away before its end was written; the end was refused", job.id, job.type
            )
            return
        if isinstance(outcome, Failed):
            log_failure(job, outcome, label)
        elif isinstance(outcome, Released):
            logger.info("Job %s (%s) was given back", job.id, job.type)
        self._send(job, label)

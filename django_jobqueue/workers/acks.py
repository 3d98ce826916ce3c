"""The outcomes that the worker owes the database. None is dropped before the database took or refused it."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from django.db import DataError, IntegrityError

from django_jobqueue import signals
from django_jobqueue.exceptions import JobNotFound, TransitionRefused
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Completed, Failed, Outcome, Released

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager

logger = logging.getLogger("django_jobqueue.worker")

BATCH = 500

Owed = tuple[RunningJob, Outcome]


class Acks:
    """Outcomes from the threads, written in batches by the worker's own thread, each under its fence."""

    def __init__(self, manager: JobManager, settled: Callable[[RunningJob], None]) -> None:
        self._manager = manager
        self._settled = settled
        self._owed: deque[Owed] = deque()
        self.counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._owed)

    def add(self, job: RunningJob, outcome: Outcome) -> None:
        """Owe the database an outcome. Any thread may call this."""
        self._owed.append((job, outcome))

    def flush(self) -> None:
        """Write what is owed; ``settled`` is called with each job whose end the database took or refused.

        When the database fails, its error comes through, and everything that it did not answer is still owed.
        """
        while self._owed:
            batch = [self._owed[index] for index in range(min(BATCH, len(self._owed)))]
            for job, outcome, label in self._write(batch):
                self._owed.popleft()
                self._settled(job)
                self._tell(job, outcome, label)

    def _write(self, batch: list[Owed]) -> list[tuple[RunningJob, Outcome, str]]:
        """Write the leading run of completions at once, or else the first outcome alone."""
        run: list[tuple[RunningJob, Completed]] = []
        for job, outcome in batch:
            if not isinstance(outcome, Completed):
                break
            run.append((job, outcome))
        if not run:
            job, outcome = batch[0]
            return [(job, outcome, self._write_one(job, outcome))]
        try:
            taken = self._manager.complete_many(
                [(job.id, job.fencing_token, outcome.result) for job, outcome in run]
            )
        except (DataError, IntegrityError) as error:
            if len(run) > 1:  # find the one that the database cannot hold
                return self._write(batch[: len(run) // 2])
            logger.error("The result of job %s cannot be stored: %s", run[0][0].id, type(error).__name__)
            job, outcome = run[0]
            refused = Failed(
                Failure(error="The handler succeeded, but the database refused its result.", retryable=False)
            )
            return [(job, refused, self._write_one(job, refused))]
        refused_ids = [job.id for job, _ in run if job.id not in taken]
        if refused_ids:  # an answer that got lost, perhaps: then they are completed, under the same fence
            already = self._manager.using(self._manager.write_alias).filter(
                pk__in=refused_ids, status="completed"
            )
            tokens = dict(already.values_list("pk", "fencing_token"))
            taken |= {job.id for job, _ in run if tokens.get(job.id) == job.fencing_token}
        return [(job, outcome, "completed" if job.id in taken else "lost") for job, outcome in run]

    def _write_one(self, job: RunningJob, outcome: Outcome) -> str:
        token = job.fencing_token
        try:
            if isinstance(outcome, Released):
                after = self._manager.release(
                    job.id, fencing_token=token, delay=outcome.delay, reason=outcome.reason
                )
                return "cancelled" if after.status == "cancelled" else "released"
            assert isinstance(outcome, Failed)
            after = self._manager.retry_or_fail(job.id, outcome.failure, fencing_token=token)
            return after.status if after.status in ("failed", "cancelled") else "retried"
        except (TransitionRefused, JobNotFound):
            return "lost"

    def _tell(self, job: RunningJob, outcome: Outcome, label: str) -> None:
        self.counts[label] += 1
        if label == "lost":
            logger.warning(
                "Job %s (%s) was taken away before its end was written; the end was refused", job.id, job.type
            )
            return
        if isinstance(outcome, Failed):
            logger.warning(
                "Job %s (%s) %s: %s", job.id, job.type, label, outcome.failure.exception_class or "failed"
            )
        elif isinstance(outcome, Released):
            logger.info("Job %s (%s) was given back", job.id, job.type)
        signals.send(signals.job_finished, Job, job=job, outcome=label)

"""Whether a handler stands what a queue may do to it: its job run again, run twice at once, cut off by a crash."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from django.db import connections

from django_jobqueue.jobs.manager import JobManager
from django_jobqueue.jobs.pending.take import Wanted
from django_jobqueue.models import Job
from django_jobqueue.registry import Handler
from django_jobqueue.testing.run import CLAIM, call, run_jobs
from django_jobqueue.testing.travel import travel
from django_jobqueue.workers.acks import Acks
from django_jobqueue.workers.execute import execute
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Completed, Failed, Outcome, Written

Payload = Mapping[str, Any]

_LONGEST_LEASE = timedelta(days=8)  # past every lease, and every retry that is worth a test
_PATIENCE = 60.0


def assert_runs_once(
    handler: str | Handler,
    payload: Payload | Callable[[], Payload] | None = None,
    *,
    effects: Callable[[], int | Sized],
) -> None:
    """Assert that a job has its effects once, although it runs more than once.

    ``effects`` tells how many effects there are by now: a number, or a collection that is counted. The job is
    run to see how many one run has. Then jobs of the same payload have to add as many again, or none:

    - one that runs twice in a row, because its worker died before it could tell the end;
    - one that runs twice at once, because its worker was taken for dead;
    - one that crashes between its first effect and the record of it (in the ledger, or of the job's own end), and
      runs again.

    Give a callable that returns a new payload each time where the payload itself is what the handler knows a
    repeated effect by: then none is not enough. Two connections are needed that see what the other one
    commits, so it raises ``RuntimeError`` inside the transaction of a ``TestCase``: use a
    ``TransactionTestCase``, or pytest's ``transactional_db``.
    """
    if connections[Job.objects.write_alias].in_atomic_block:
        raise RuntimeError(
            "assert_runs_once runs a job on two connections at once, and neither sees what a TestCase has not "
            "committed. Use it in a TransactionTestCase (pytest: @pytest.mark.django_db(transaction=True))."
        )
    trials = _Trials(handler, payload, effects)
    trials.twice_in_a_row()
    trials.twice_at_once()
    trials.after_a_crash()


class _Crash(BaseException):
    """The process is gone. What runs after it would not have run."""


class _Trials:
    def __init__(
        self,
        handler: str | Handler,
        payload: Payload | Callable[[], Payload] | None,
        effects: Callable[[], int | Sized],
    ) -> None:
        self._type = handler.type if isinstance(handler, Handler) else handler
        self._payload = payload
        self._effects = effects
        self._once = 0

    def twice_in_a_row(self) -> None:
        before = self._count()
        queue = self._enqueue()
        job, outcome = _attempt(queue)
        if not isinstance(outcome, Completed | Written):
            said = outcome.failure.error if isinstance(outcome, Failed) else outcome
            raise AssertionError(f"The job does not complete at all: {said}")
        self._once = self._count() - before
        if self._once < 1:
            raise AssertionError(
                f"effects: {before} before the job and {before + self._once} after it. It has to count something "
                "that the job does."
            )
        if isinstance(outcome, Completed):
            Job.objects.release(job.id, fencing_token=job.fencing_token)
        _finish(queue)
        self._compare(before, "run twice in a row", exactly=True)

    def twice_at_once(self) -> None:
        before = self._count()
        queue = self._enqueue()
        late = _claim(queue)
        Job.objects.release(late.id, fencing_token=late.fencing_token)
        _run_together([late, _claim(queue)])
        _finish(queue)
        self._compare(before, "run twice at once")

    def after_a_crash(self) -> None:
        before = self._count()
        queue = self._enqueue()
        with _crash_before_the_record():
            _attempt(queue)
        travel(_LONGEST_LEASE)
        Job.objects.reap()
        _finish(queue)
        self._compare(before, "run again after a crash between its effect and the record of it")

    def _enqueue(self) -> str:
        """A job with a key of its own, in a queue of its own; the name of the queue."""
        name = f"assert_runs_once:{uuid.uuid4()}"
        payload = self._payload() if callable(self._payload) else self._payload
        Job.objects.enqueue(self._type, payload, queue=name, idempotency_key=name)
        return name

    def _count(self) -> int:
        effects = self._effects()
        return len(effects) if isinstance(effects, Sized) else effects

    def _compare(self, before: int, how: str, *, exactly: bool = False) -> None:
        got = self._count() - before
        if got == self._once or (got == 0 and not exactly and not callable(self._payload)):
            return
        raise AssertionError(
            f"A job of {self._type!r} that is {how} has {got} effects; one that runs once has {self._once}."
        )


def _claim(queue: str) -> RunningJob:
    _, (row,) = Job.objects.exchange([], CLAIM, Wanted(1, [queue]))
    return RunningJob(Job.objects, CLAIM, row)


def _attempt(queue: str) -> tuple[RunningJob, Outcome]:
    """Claim and run the job; nobody tells the queue how that ended."""
    job = _claim(queue)
    return job, execute(job, call)


def _finish(queue: str) -> None:
    run_jobs(queues=[queue], until=_LONGEST_LEASE)


def _run_together(jobs: list[RunningJob]) -> None:
    """Run claims at the same moment, each on a connection of its own, and have their ends written."""
    barrier = threading.Barrier(len(jobs))
    errors: list[BaseException] = []

    def run(job: RunningJob) -> None:
        try:
            connections[Job.objects.write_alias].ensure_connection()
            barrier.wait(_PATIENCE)
            acks = Acks(Job.objects, lambda job: None)
            acks.add(job, execute(job, call))
            acks.flush()
        except BaseException as error:
            errors.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=[job], daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE)
    for error in errors:
        raise error
    if any(thread.is_alive() for thread in threads):
        raise AssertionError(f"Run twice at once, the job did not end within {_PATIENCE:g} s.")


@contextmanager
def _crash_before_the_record() -> Iterator[None]:
    """The process dies where an effect, or the end of an atomic handler, would be recorded."""

    def crash(*_: Any) -> None:
        raise _Crash

    with (
        patch("django_jobqueue.ledger.once.record_result", crash),
        patch.object(JobManager, "complete_claims", crash),
    ):
        yield

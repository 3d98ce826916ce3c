"""Jobs run to an end here and now: on the test's own connection, in its own transaction and thread."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from asgiref.sync import async_to_sync
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from django_jobqueue.exceptions import HandlerEnd
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.pending.take import Wanted
from django_jobqueue.models import Job
from django_jobqueue.registry import Handler
from django_jobqueue.testing.left_open import OpenTransactions
from django_jobqueue.testing.travel import travel
from django_jobqueue.vendors import Claim, Now
from django_jobqueue.workers.acks import Acks
from django_jobqueue.workers.execute import execute
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import LEFT_OPEN

CLAIM = Claim(worker_id="run_jobs", claimed_by="", lease_seconds=3600)


def run_jobs(
    *,
    queues: Sequence[str] | None = None,
    until: timedelta | datetime | None = None,
    limit: int = 1000,
    reraise: bool = False,
) -> Counter[str]:
    """Run jobs as a worker would, one after the other, until none is pending or due; count how they ended.

    The names of the ends are those of the signal ``job_finished``: ``completed``, ``retried``, ``failed``,
    ``released`` (snoozed) and ``cancelled``. A job that is retried at once runs again within the call.
    ``queues`` restricts it to these (default: all).

    ``until`` is how far to go in time: a timedelta from now, or a point in time. Jobs that are scheduled until
    then run in their order, retries with a backoff among them, and nobody sleeps: see ``travel``.

    A handler that raises fails its job, as it would with a worker. With ``reraise`` what it raised is raised
    here, too, after its job's end was written; not so for the ends that a handler chooses, such as ``Snooze``.
    Raises ``RuntimeError`` when ``limit`` jobs were run and there are more.

    A handler that returns with a transaction open fails, as with a worker, and what it wrote in it is gone.

    Timeouts and isolation are not applied: the handler runs in the caller's thread.
    """
    runner = _Runner(queues, limit, reraise)
    runner.drain()
    if until is not None:
        left = _seconds_until(until)
        while (wait := runner.seconds_to_next()) is not None and wait <= left:
            travel(wait)
            left -= wait
            runner.drain()
        travel(left)
    return runner.counts


class _Runner:
    def __init__(self, queues: Sequence[str] | None, limit: int, reraise: bool) -> None:
        self._queues = queues
        self._limit = limit
        self._reraise = reraise
        self._acks = Acks(Job.objects, lambda job: None)
        self._runs = 0
        self._error: BaseException | None = None
        self.counts = self._acks.counts

    def drain(self) -> None:
        while True:
            while Job.objects.promote():
                pass
            _, rows = Job.objects.exchange([], CLAIM, Wanted(1, self._queues))
            if not rows:
                return
            self._run(RunningJob(Job.objects, CLAIM, rows[0]))

    def seconds_to_next(self) -> float | None:
        """Until the next scheduled job is due; ``None`` without one."""
        scheduled: Any = Job.objects.using(Job.objects.write_alias).filter(status="scheduled")
        if self._queues is not None:
            scheduled = scheduled.filter(queue__in=self._queues)
        job = scheduled.annotate(db_now=Now()).order_by("run_at").first()
        return None if job is None else max(0.0, (job.run_at - job.db_now).total_seconds())

    def _run(self, job: RunningJob) -> None:
        if self._runs == self._limit:
            Job.objects.release(job.id, fencing_token=job.fencing_token)
            raise RuntimeError(
                f"limit: {self._limit} jobs were run and there are more, the next one a {job.type}. Does a job "
                "enqueue or snooze itself without end?"
            )
        self._runs += 1
        self._error = None
        self._acks.add(job, execute(job, self._call))
        self._acks.flush()
        if self._error is not None and self._goes_on(self._error):
            raise self._error

    def _call(self, handler: Handler, job: RunningJob) -> Any:
        try:
            return call(handler, job)
        except BaseException as error:
            self._error = error
            raise

    def _goes_on(self, error: BaseException) -> bool:
        if not isinstance(error, Exception | SystemExit):
            return True  # somebody wants to end the test, not the job
        return self._reraise and not isinstance(error, HandlerEnd)


def call(handler: Handler, job: RunningJob) -> Any:
    """Run a handler in this thread; what it left undone in a test case's transaction is done after it."""
    with _inside_test_case():
        if not handler.atomic:
            before = OpenTransactions()
            try:
                result = _invoke(handler, job)
            finally:
                left_open = before.undo_new()
            return LEFT_OPEN if left_open else result
        with job.complete_in_transaction() as completion:
            completion.result = _invoke(handler, job)
        return None


def _invoke(handler: Handler, job: RunningJob) -> Any:
    # Not handler.is_async: that is whether the worker's event loop runs it, which is never so for an isolated one.
    is_async = inspect.iscoroutinefunction(handler.function)
    function = async_to_sync(handler.function) if is_async else handler.function
    return function(job, **job.payload)


@contextmanager
def _inside_test_case() -> Iterator[None]:
    """Make up for the transaction that a test case has around everything.

    ``on_commit`` functions of the handler's own transactions are called, for that commit will never come. A
    statement that failed outside of any ``atomic`` harms a worker's next statement not at all, but would break
    the test's transaction, so this is taken back to where the handler began.
    """
    started = {
        connection: (connection.savepoint(), len(connection.run_on_commit))
        for connection in connections.all(initialized_only=True)
        if connection.in_atomic_block
    }
    try:
        yield
    finally:
        for connection, (savepoint, _) in started.items():
            _mend(connection, savepoint)
        for connection, (_, hooks) in started.items():
            _run_hooks(connection, hooks)


def _mend(connection: BaseDatabaseWrapper, savepoint: Any) -> None:
    try:
        if not connection.needs_rollback:  # as it is where a transaction was left open
            connection.savepoint_commit(savepoint)
            return
    except DatabaseError:
        pass
    connection.needs_rollback = False
    connection.savepoint_rollback(savepoint)


def _run_hooks(connection: BaseDatabaseWrapper, first: int) -> None:
    while len(connection.run_on_commit) > first:  # a function may add to it, or roll some of it back
        hook: Any = connection.run_on_commit.pop(first)
        _, function, robust = hook
        try:
            function()
        except Exception:
            if not robust:
                raise


def _seconds_until(until: timedelta | datetime) -> float:
    if isinstance(until, timedelta):
        return limits.check_delay("until", until)
    return max(0.0, (limits.check_time("until", until) - timezone.now()).total_seconds())

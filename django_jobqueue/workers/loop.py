"""The worker: one thread that claims, hands out, writes outcomes, renews leases and does the upkeep."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from django.db import DatabaseError
from django.db import Error as DatabaseFault
from django.db import connections as django_connections

from django_jobqueue import registry
from django_jobqueue.jobs.notify import INTERVAL
from django_jobqueue.jobs.pending.take import Wanted
from django_jobqueue.jobs.running.exchange import COLUMNS
from django_jobqueue.vendors import Claim
from django_jobqueue.workers.acks import BATCH, Acks, Done
from django_jobqueue.workers.async_pool import AsyncPool
from django_jobqueue.workers.connections import own
from django_jobqueue.workers.cursor import Cursor
from django_jobqueue.workers.endings import Endings
from django_jobqueue.workers.execute import no_async_places
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.leases import Leases
from django_jobqueue.workers.listener import Listener
from django_jobqueue.workers.options import WorkerOptions
from django_jobqueue.workers.outage import Outage
from django_jobqueue.workers.outcome import Outcome, Released
from django_jobqueue.workers.pace import Pace
from django_jobqueue.workers.pool import ThreadPool
from django_jobqueue.workers.quarantine import Quarantine, later
from django_jobqueue.workers.release import release_held
from django_jobqueue.workers.resolution import Resolution
from django_jobqueue.workers.shutdown import Shutdown
from django_jobqueue.workers.upkeep import Upkeep
from django_jobqueue.workers.wakeup import Pause, Wakeup

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager

logger = logging.getLogger("django_jobqueue.worker")

ID, QUEUE, PRIORITY = (COLUMNS.index(name) for name in ("id", "queue", "priority"))

_SHORTEST_POLL = 0.0025
_LONGEST_FAULT_PAUSE = 5.0
_INTERRUPT_GRACE = 0.5
_STALLED_AFTER = 1.0  # seconds without a finished job after which what waits in line is given back
_QUEUE_TRUSTED_FOR = 0.25  # seconds for which a queue that gave all that was asked is taken for the only one


class Worker:
    """A worker process's life. ``run`` returns when it is over."""

    def __init__(self, manager: JobManager, options: WorkerOptions) -> None:
        self._manager = manager
        self._options = options
        self._claim = Claim(
            worker_id=options.worker_id, claimed_by="", lease_seconds=round(options.lease_seconds, 3)
        )
        self._wakeup = Wakeup()
        self._leases = Leases(manager, options.lease_seconds)
        self._endings = Endings()
        self._acks = Acks(manager, self._leases.drop, self._endings.tell, lease_seconds=options.lease_seconds)
        self._upkeep = Upkeep(manager)
        self._quarantine = Quarantine(enabled=options.isolate_lost)
        self._threads = ThreadPool(options.concurrency, self._report, self._wakeup.ring, self._quarantine)
        self._resolution = Resolution(self._report, self._wakeup.ring)
        self._async = AsyncPool(options.async_concurrency, self._report)
        self._pace = Pace(options.prefetch)
        self._listener = Listener(manager)
        self._cursor = Cursor()
        # Who has just told of a queue keeps the next job to itself: looks are frequent for that long.
        self._poll = Pause(_SHORTEST_POLL, options.poll_interval, steady=INTERVAL)
        self._poll_at = 0.0
        self._only_queue: tuple[str, float] | None = None
        self._looked_in_vain = False
        self._progress_at = time.monotonic()
        self._fault = Pause(0.1, _LONGEST_FAULT_PAUSE)
        self._outage = Outage()
        # Of the project's handlers; what is handed out can be of a kind that none of them is.
        self._kinds = {
            handler.is_async
            for handler in registry.handlers()
            if not handler.type.startswith(registry.OWN_PREFIX)
        }
        self._claimed = 0
        self._drained = False
        self.shutdown = Shutdown(self._wakeup, options.shutdown_timeout, lambda: len(self._leases))
        self.counts = self._acks.counts

    def run(self) -> int:
        """Work until told to stop, drained or done.

        0: everything ended in order; 1: running jobs were given back, or its pools could run no more.
        """
        with self.shutdown, own(self._manager.write_alias):
            self._threads.start()
            logger.info("Worker %s started", self._options.worker_id)
            try:
                self._work()
                clean = self._finish()
            except BaseException:
                logger.critical(
                    "Worker %s fails and gives back its jobs", self._options.worker_id, exc_info=True
                )
                self._take_back()
                clean = self._give_back()
            self._stop_threads(clean)
        for connection in django_connections.all(initialized_only=True):
            connection.close()
        self._wakeup.close()
        logger.info("Worker %s stopped: %s", self._options.worker_id, dict(self.counts))
        return 0 if clean and not self._broken() else 1

    def _work(self) -> None:
        while not self._over():
            try:
                self._step()
                self._recovered()
            except DatabaseFault as error:
                self._lost_database(error)

    def _over(self) -> bool:
        if self.shutdown.requested or self._drained or self._broken():
            return True
        return self._exhausted() and not self._leases

    def _broken(self) -> bool:
        return self._threads.broken or self._async.broken

    def _exhausted(self) -> bool:
        return self._options.max_jobs is not None and self._claimed >= self._options.max_jobs

    def _step(self) -> None:
        """One round: keep leases and queue in order, write outcomes, claim, wait."""
        self._listener.attend()
        self._leases.renew()
        if found := self._resolution.ready():
            self._submit(found)
        if ended := self._acks.flush_others():
            self._note_progress(ended)
            self._expect_work()
        if self._upkeep.next_due() <= time.monotonic() and self._upkeep.run():
            self._expect_work()
        limit = self._room() if time.monotonic() >= self._poll_at else 0
        if limit and not self._acks and not self._options.drain and self._idle_look_is_vain():
            self._poll_at = time.monotonic() + self._poll.grow()
        elif limit:
            self._exchange(limit)
        elif self._acks.due() <= time.monotonic():
            self._write_completions()
        if self._drained:
            return
        self._threads.replace_dead()
        self._threads.interrupt_late()
        self._give_back_stalled()
        wait = self._until_next()
        # With work at hand the bell is not looked at: a look would hand Python's lock to the threads, for as long
        # as their line lasts, while the database has nothing to do.
        if wait <= 0 or self._wakeup.wait(wait, self._listener.fileno):
            self._listen()

    def _listen(self) -> None:
        """Somebody told of new jobs: look into that queue at once."""
        options = self._options
        for queue in self._listener.heard():
            if queue in options.exclude_queues or queue not in (options.queues or (queue,)):
                continue
            if self._only_queue is None and not self._leases:
                self._only_queue = (queue, time.monotonic() + _QUEUE_TRUSTED_FOR)
            elif self._only_queue is not None and self._only_queue[0] != queue:
                self._only_queue = None
            self._look_now()

    def _idle_look_is_vain(self) -> bool:
        """Whether the last look found nothing and nobody changed anything since."""
        return self._listener.nothing_changed() and self._looked_in_vain

    def _until_next(self) -> float:
        due = min(self._leases.next_due(), self._upkeep.next_due(), self._acks.due())
        if self._room():
            due = min(due, self._poll_at)
        wait = due - time.monotonic()
        return min(wait, 0.1) if self._leases else wait  # 0.1 s: how late a handler's timeout is noticed

    def _expect_work(self) -> None:
        """Jobs came back to pending, by this worker's doing or while it could not hear."""
        self._cursor.forget()
        self._look_now()

    def _look_now(self) -> None:
        self._poll.reset()
        self._poll_at = 0.0
        self._looked_in_vain = False

    def _room(self) -> int:
        """How many jobs to claim now: none while the line is long enough for the pace of the threads."""
        prefetch = self._pace.prefetch
        unfinished = len(self._leases) - len(self._acks)
        waiting = self._threads.waiting + self._async.waiting
        size = self._size()
        if waiting and waiting > prefetch // 2:
            return 0
        room = size + prefetch - unfinished + self._resolution.looking
        if self._options.max_jobs is not None:
            room = min(room, self._options.max_jobs - self._claimed)
        return max(0, min(room, BATCH))

    def _size(self) -> int:
        """Jobs that can run at once; with handlers of both kinds the scarcer places count."""
        waits = self._quarantine.waits(self._leases.jobs)
        if waits or not self._async.size or True not in self._kinds:
            return self._threads.size
        if self._kinds == {True}:
            return self._async.size
        return min(self._threads.size, self._async.size)

    def _exchange(self, limit: int) -> None:
        """Write the completions and claim up to ``limit`` jobs, in one go where the database can."""
        batch = self._acks.completions()
        wanted = self._wanted(limit)
        began = time.monotonic()
        try:
            taken, rows = self._manager.exchange(self._acks.claims(batch), self._claim, wanted)
        except DatabaseError as error:
            if not self._acks.refuses(error, batch):
                raise
            self._acks.flush_carefully(batch)
            return
        took = time.monotonic() - began
        if rows:  # first of all: they are claimed, whatever becomes of the rest
            self._hand_out([RunningJob(self._manager, self._claim, row) for row in rows])
        self._settle(batch, taken)
        queues = {row[QUEUE] for row in rows}
        if len(wanted.queues or queues) == 1:
            last = (rows[-1][QUEUE], rows[-1][PRIORITY], rows[-1][ID]) if rows else None
            self._cursor.note(last, took, work=len(rows) + len(batch), from_head=wanted.after is None)
        everywhere = wanted.after is None and wanted.queues == self._options.queues
        self._looked_in_vain = everywhere and not rows
        self._remember_queue(queues, full=len(rows) == limit)
        if rows:
            self._poll.reset()
        if len(rows) < limit:
            self._poll_at = time.monotonic() + self._poll.grow()
        if not rows and self._options.drain and not self._leases:
            drained = everywhere and not self._quarantine.waits(tuple) and not self._upkeep.promote()
            self._drained = drained
            self._cursor.forget()
            self._only_queue = None

    def _wanted(self, limit: int) -> Wanted:
        options = self._options
        if self._only_queue is not None and time.monotonic() >= self._only_queue[1]:
            self._only_queue = None
        queues = options.queues if self._only_queue is None else (self._only_queue[0],)
        after = self._cursor.after(queues[0]) if queues is not None and len(queues) == 1 else None
        return Wanted(limit, queues, options.exclude_queues, after=after)

    def _remember_queue(self, queues: set[str], *, full: bool) -> None:
        """A queue that alone filled a whole claim will fill the next: no need to look into all others first.

        Nor into others than the one that gave jobs, for as long as looks at the heads of queues are slow.
        """
        if self._only_queue is not None and self._cursor.after(self._only_queue[0]) is not None:
            return
        if not full and self._only_queue is not None:
            self._only_queue = None
        elif self._only_queue is None and len(queues) == 1:
            (queue,) = queues
            if self._cursor.after(queue) is not None:
                self._only_queue = (queue, self._cursor.until)
            elif full:
                self._only_queue = (queue, time.monotonic() + _QUEUE_TRUSTED_FOR)

    def _hand_out(self, jobs: list[RunningJob]) -> None:
        self._progress_at = time.monotonic()
        self._leases.hold(jobs)
        jobs, refused = self._quarantine.admit(
            jobs, busy=lambda: self._threads.in_process or self._async.running
        )
        for job in refused:
            self._acks.add(job, later())
        if self._quarantine.active:
            self._threads.submit(self._async.take_back())
        self._claimed += len(jobs)
        self._submit(jobs)

    def _submit(self, jobs: list[RunningJob]) -> None:
        """Run these where their handlers run, which must be found first where nobody registered the type."""
        sync: list[RunningJob] = []
        concurrent: list[RunningJob] = []
        unknown: list[RunningJob] = []
        for job in jobs:
            is_async = self._resolution.is_async(job.type)
            if is_async is None:
                unknown.append(job)
                continue
            on_loop = is_async and not self._quarantine.isolates(job)
            if on_loop and not self._async.size:
                self._acks.add(job, no_async_places(job))
                continue
            self._kinds.add(is_async)
            (concurrent if on_loop else sync).append(job)
        self._resolution.submit(unknown)
        self._threads.short = max(0, min(len(sync) - 1, self._pace.prefetch // 2))
        self._threads.submit(sync)
        if concurrent:
            self._async.submit(concurrent)

    def _report(self, job: RunningJob, outcome: Outcome) -> None:
        """Called by the thread that ran the job."""
        if self._acks.add(job, outcome):
            self._wakeup.ring()

    def _write_completions(self) -> None:
        batch = self._acks.completions()
        try:
            taken = self._manager.complete_claims(self._acks.claims(batch), skip_locked=True)
        except DatabaseError as error:
            if not self._acks.refuses(error, batch):
                raise
            self._acks.flush_carefully(batch)
            return
        self._settle(batch, taken)

    def _settle(self, batch: list[Done], taken: set[int]) -> None:
        if batch:
            self._acks.settle(batch, taken)
            self._note_progress(len(batch))

    def _note_progress(self, ended: int) -> None:
        self._pace.finished(ended)
        self._progress_at = time.monotonic()

    def _give_back_stalled(self) -> None:
        """Long jobs block every thread: what waits in line goes back, for other workers."""
        if not self._threads.waiting or time.monotonic() - self._progress_at < _STALLED_AFTER:
            return
        self._pace.stall()
        for job in self._threads.take_back():
            self._acks.add(job, Released())

    def _finish(self) -> bool:
        """Start nothing more, let what runs end and write its outcome; whether all of it did."""
        self.shutdown.begun()
        self._take_back()
        deadline = time.monotonic() + self._options.shutdown_timeout
        while self._leases and not self.shutdown.at_once and time.monotonic() < deadline:
            try:
                self._leases.renew()
                self._acks.flush()
                self._threads.replace_dead()
                self._threads.interrupt_late()
                self._recovered()
                if self._leases:
                    self._wakeup.wait(min(0.1, deadline - time.monotonic()))
            except DatabaseFault as error:
                self._lost_database(error)
        clean = not self._leases or self._give_back()
        self._endings.stop(deadline, lambda: self.shutdown.at_once)
        return clean

    def _take_back(self) -> None:
        for pool in (self._resolution, self._threads, self._async):
            for job in pool.take_back():
                self._acks.add(job, Released())

    def _stop_threads(self, clean: bool) -> None:
        self._threads.stop(1.0 if clean else 0.0)
        self._async.stop(1.0 if clean else 0.0)
        self._endings.stop(0.0, lambda: True)

    def _give_back(self) -> bool:
        """End what still runs and give its claims back; never all in order."""
        self._threads.interrupt_all()
        self._async.interrupt_all()
        end = time.monotonic() + _INTERRUPT_GRACE
        while len(self._acks) < len(self._leases) and (left := end - time.monotonic()) > 0:
            self._wakeup.wait(left)
        release_held(self._manager, self._acks, self._leases)
        return False

    def _lost_database(self, error: DatabaseFault) -> None:
        """Nothing is given up: close, wait longer each time, and try the same step again."""
        if self._outage.note(error):
            self._threads.distrust_connections()
            self._async.distrust_connections()
        self._listener.forget()
        self._expect_work()  # what was told meanwhile was not heard
        django_connections[self._manager.write_alias].close()
        end = time.monotonic() + self._fault.grow()
        requests = self.shutdown.requests
        while (left := end - time.monotonic()) > 0 and self.shutdown.requests == requests:
            self._wakeup.wait(left)

    def _recovered(self) -> None:
        if self._outage.over():
            self._fault.reset()

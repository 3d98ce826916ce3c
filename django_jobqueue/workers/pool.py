"""The threads that run handlers."""

from __future__ import annotations

import ctypes
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

from django_jobqueue import registry
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.registry import Handler
from django_jobqueue.workers import connections
from django_jobqueue.workers.execute import JobInterrupted, JobTimedOut, execute, outcome_of
from django_jobqueue.workers.isolation.run import IsolatedRun, cannot_isolate
from django_jobqueue.workers.isolation.server import ForkServer
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import LEFT_OPEN, Completed, Failed, Outcome
from django_jobqueue.workers.quarantine import Quarantine

Report = Callable[[RunningJob, Outcome], None]


logger = logging.getLogger("django_jobqueue.worker")

THREAD_DIED = Failed(
    Failure(error="The thread that ran the job died; something was raised outside of the handler.")
)


class Slot:
    """One thread and the job that it runs, if any."""

    def __init__(
        self,
        number: int,
        todo: queue.SimpleQueue[RunningJob | None],
        report: Report,
        started: Callable[[], None],
        fork_server: ForkServer | None,
        quarantine: Quarantine,
    ) -> None:
        self._quarantine = quarantine
        self.in_process = False
        """Whether a handler runs in this thread itself."""
        self._todo = todo
        self.taken: list[RunningJob] = []
        """The job out of the line that has no outcome yet."""
        self._report = report
        self._started = started
        self._fork_server = fork_server
        self._isolated: IsolatedRun | None = None
        self._lock = threading.Lock()
        self._interruptible = False
        self._interrupted = False
        self._deadline = float("inf")
        self.epoch = 0
        self._seen_epoch = 0
        self.thread = threading.Thread(target=self._live, name=f"jobqueue-{number}", daemon=True)

    def interrupt(self, reason: type[BaseException], *, only_late: bool = False) -> bool:
        """Raise ``reason`` inside the handler that runs now, if any; whether there was one.

        It arrives at the handler's next line of Python: code that blocks in C first returns. The process of an
        isolated handler is killed if it does not end soon.
        """
        with self._lock:
            if only_late and time.monotonic() < self._deadline:
                return False
            if self._isolated is not None:
                self._isolated.stop(reason)
                return True
            if not self._interruptible:
                return False
            self._interruptible = False
            self._interrupted = True
            identity = ctypes.c_ulong(self.thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(reason))
            return True

    def _live(self) -> None:
        try:
            self._loop()
        except BaseException:
            logger.exception("A thread for handlers died of what was raised outside of a handler")

    def _loop(self) -> None:
        line = iter(self._todo.get, None)
        while True:
            # No line of Python in between, at which something raised in this thread would lose the job.
            self.taken.extend(islice(line, 1))
            if not self.taken:
                break
            job = self.taken[0]
            self._started()
            try:
                if self._seen_epoch != self.epoch:
                    self._seen_epoch = self.epoch
                    connections.distrust()
                connections.prepare()
                outcome = execute(job, self._call)
                if connections.leave_clean() and isinstance(outcome, Completed):
                    outcome = LEFT_OPEN
            except BaseException as error:
                outcome = outcome_of(error)
            self._report(job, outcome)
            self.taken.clear()
            del job, outcome
        connections.close()

    def _call(self, handler: Handler, job: RunningJob) -> object:
        self.in_process = True  # before the question below, so that whoever asks meanwhile errs to this side
        try:
            if handler.isolate or self._quarantine.isolates(job):
                self.in_process = False
                return self._isolate(handler, job)
            return self._run_here(handler, job)
        finally:
            self.in_process = False

    def _run_here(self, handler: Handler, job: RunningJob) -> object:
        if not handler.atomic:
            return self._run(handler, job)
        # What commits is not interrupted: the shield is up again before the transaction ends.
        with job.complete_in_transaction() as completion:
            completion.result = self._run(handler, job)
        return None

    def _run(self, handler: Handler, job: RunningJob) -> object:
        if handler.timeout is not None:
            self._deadline = time.monotonic() + handler.timeout
        with self._lock:
            self._interruptible = True
        try:
            return handler.function(job, **job.payload)
        finally:
            self._shield()

    def _isolate(self, handler: Handler, job: RunningJob) -> Outcome:
        """Wait for the handler's own process. It is the process that is interrupted then, not this thread."""
        if self._fork_server is None:
            return cannot_isolate(job, "the handler was registered after it had started")
        run = IsolatedRun(self._fork_server, handler, job)
        with self._lock:
            self._isolated = run
            if handler.timeout is not None:
                self._deadline = time.monotonic() + handler.timeout
        try:
            return run.wait()
        finally:
            with self._lock:
                self._isolated = None
                self._deadline = float("inf")

    def _shield(self) -> None:
        """Let no interruption in any more. One that is on its way arrives here at the latest."""
        late: BaseException | None = None
        while True:
            try:
                with self._lock:
                    self._interruptible = False
                    self._deadline = float("inf")
                if self._interrupted:
                    time.sleep(0)  # a line of Python on which what was sent before the lock arrives
                    self._interrupted = False
                break
            except (JobTimedOut, JobInterrupted) as error:
                late = error
        if late is not None:
            raise late


class ThreadPool:
    """A fixed number of threads, each with at most one job; more wait in line.

    ``report`` gets each job's outcome, in its thread. ``hungry`` is called when the line gets short, once for
    each time that it does.
    """

    def __init__(
        self,
        size: int,
        report: Report,
        hungry: Callable[[], None],
        quarantine: Quarantine,
    ) -> None:
        self._todo: queue.SimpleQueue[RunningJob | None] = queue.SimpleQueue()
        # Now, before this worker has threads.
        isolates = quarantine.enabled or any(handler.isolate for handler in registry.handlers())
        self._fork_server = ForkServer() if isolates else None
        connections.watch()
        self._new_slot = partial(
            Slot,
            todo=self._todo,
            report=report,
            started=self._started,
            fork_server=self._fork_server,
            quarantine=quarantine,
        )
        self._slots = [self._new_slot(number) for number in range(size)]
        self._report = report
        self._hungry = hungry
        self.size = size
        self.short = 0

    @property
    def waiting(self) -> int:
        """How many jobs wait in line."""
        return self._todo.qsize()

    @property
    def in_process(self) -> bool:
        """Whether handlers run in the threads themselves."""
        return any(slot.in_process for slot in self._slots)

    @property
    def broken(self) -> bool:
        """Whether it can isolate no more jobs, which only a new process mends."""
        return self._fork_server is not None and self._fork_server.gone

    def start(self) -> None:
        """Start the threads."""
        for slot in self._slots:
            slot.thread.start()

    def submit(self, jobs: Iterable[RunningJob]) -> None:
        """Run ``jobs`` when threads are free."""
        put = self._todo.put
        for job in jobs:
            put(job)

    def _started(self) -> None:
        if self._todo.qsize() == self.short:
            self._hungry()

    def take_back(self) -> list[RunningJob]:
        """The jobs that no thread has started, out of the line."""
        waiting: list[RunningJob] = []
        try:
            while (job := self._todo.get_nowait()) is not None:
                waiting.append(job)
        except queue.Empty:
            pass
        return waiting

    def replace_dead(self) -> None:
        """Put new threads in the place of those that something ended which was raised outside of a handler."""
        for number, slot in enumerate(self._slots):
            if slot.thread.is_alive():
                continue
            self._slots[number] = self._new_slot(number)
            self._slots[number].thread.start()
            for job in slot.taken:
                self._report(job, THREAD_DIED)

    def interrupt_late(self) -> None:
        """End the handlers that have run past their timeout."""
        for slot in self._slots:
            slot.interrupt(JobTimedOut, only_late=True)

    def interrupt_all(self) -> None:
        """End all handlers."""
        for slot in self._slots:
            slot.interrupt(JobInterrupted)

    def distrust_connections(self) -> None:
        """The database was lost: threads ask their connections whether they live before the next job."""
        for slot in self._slots:
            slot.epoch += 1

    def stop(self, timeout: float) -> None:
        """End the threads once they are idle; those that are not after ``timeout`` seconds end with the process."""
        for _ in self._slots:
            self._todo.put(None)
        end = time.monotonic() + timeout
        for slot in self._slots:
            slot.thread.join(max(0.0, end - time.monotonic()))
        if self._fork_server is not None:
            self._fork_server.close()

"""One isolated run, seen from the worker's thread that waits for it."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import time

from django_jobqueue.conf import settings
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.registry import Handler
from django_jobqueue.workers.execute import (
    JobInterrupted,
    JobTimedOut,
    outcome_of,
    released_for_longer,
)
from django_jobqueue.workers.isolation.messages import (
    CANCEL_REQUESTED,
    CLAIM_LOST,
    INTERRUPTED,
    TIMED_OUT,
    load_outcome,
    send_job,
)
from django_jobqueue.workers.isolation.server import KILL, TELL, ForkServer, ForkServerGone
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Failed, Outcome, Released, Written

_TICK = 0.1  # seconds within which the job learns what the worker has learnt of it
_TIMEOUT_GRACE = 2.0  # seconds that a handler past its timeout gets for its ``finally`` blocks
_INTERRUPT_GRACE = 0.2  # the same when the worker has to stop now, which gives up on it after 0.5 s
_EXIT_GRACE = (
    3.0  # seconds for threads and atexit functions after the outcome is told; error trackers ask for 2
)
_OVERHEAD = 1024 * 1024  # bytes that an outcome may have beside its result


class IsolatedRun:
    """A job's handler in a process of its own. ``wait`` in one thread; ``stop`` from any, also before that."""

    def __init__(self, server: ForkServer, handler: Handler, job: RunningJob) -> None:
        self._server = server
        self._handler = handler
        self._job = job
        self._told = b""
        self._stop: type[BaseException] | None = None
        self._kill_at = float("inf")
        self._outcome: Outcome | None = None
        # A result may be written with escapes of six bytes for each of its own.
        self._room = 6 * settings().MAX_RESULT_BYTES + _OVERHEAD
        self._received = bytearray()

    def stop(self, reason: type[BaseException]) -> None:
        """Raise ``reason`` in the handler, and kill its process if that does not end it soon."""
        if self._stop is None:
            self._stop = reason
        grace = _TIMEOUT_GRACE if reason is JobTimedOut else _INTERRUPT_GRACE
        self._kill_at = min(self._kill_at, time.monotonic() + grace)

    def wait(self) -> Outcome:
        """Start the process and wait until it is gone; returns how the run ended."""
        try:
            talk, lifeline = self._server.start_process()
        except ForkServerGone:
            return cannot_isolate(self._job, "its fork server has died")
        with talk, lifeline:
            end = self._attend(talk, lifeline)
        if end is None:
            self._server.note_death()
        return self._outcome or self._outcome_of_end(end)

    def _attend(self, talk: socket.socket, lifeline: socket.socket) -> str | None:
        """Pass on news and collect the outcome until the process is gone; returns what the fork server says of it.

        ``None`` when the fork server is gone, too.
        """
        with contextlib.suppress(OSError):  # a process that is gone already: its end is on the way
            send_job(talk, self._job)
        ears = select.poll()
        ears.register(talk, select.POLLIN)
        ears.register(lifeline, select.POLLIN)
        while True:
            self._tell_news(talk, lifeline)
            heard = [descriptor for descriptor, _ in ears.poll(_TICK * 1000)]
            if talk.fileno() in heard and not self._receive(talk):
                ears.unregister(talk)
            if lifeline.fileno() in heard:
                while self._receive(talk):  # what it said before it ended is there by now
                    pass
                with contextlib.suppress(OSError):
                    return lifeline.recv(1024).decode() or None
                return None

    def _tell_news(self, talk: socket.socket, lifeline: socket.socket) -> None:
        news = b""
        if self._job.cancel_requested:
            news += CANCEL_REQUESTED
        if self._job.claim_lost:
            news += CLAIM_LOST
        if self._stop is not None:
            news += TIMED_OUT if self._stop is JobTimedOut else INTERRUPTED
        with contextlib.suppress(OSError):
            if news != self._told:
                self._told = news
                talk.sendall(news)
                lifeline.sendall(TELL)
            if time.monotonic() >= self._kill_at:
                lifeline.sendall(KILL)

    def _receive(self, talk: socket.socket) -> bool:
        """Take what has come; false when no more will come, or none is wanted."""
        try:
            part = talk.recv(65536, socket.MSG_DONTWAIT)
        except OSError:
            return False
        self._received += part
        if self._outcome is not None or not part:
            return False
        if part.endswith(b"\n"):
            self._read(bytes(self._received))
        elif len(self._received) > self._room:
            self._read(b"")
        return self._outcome is None

    def _read(self, line: bytes) -> None:
        """The process has told its outcome, so it is expected to end."""
        try:
            self._outcome = load_outcome(line)
        except ValueError:
            self._outcome = Failed(Failure(error="The job's process told an outcome that cannot be read."))
            self._kill_at = 0.0
        if isinstance(self._outcome, Written):
            self._job.completed = True
        self._kill_at = min(self._kill_at, time.monotonic() + _EXIT_GRACE)

    def _outcome_of_end(self, end: str | None) -> Outcome:
        """How a run ended that told no outcome."""
        if self._stop is JobInterrupted:
            return outcome_of(JobInterrupted())
        if self._stop is JobTimedOut:
            return outcome_of(JobTimedOut(f"ran for more than {self._handler.timeout:g} s and was killed"))
        if end is None:
            return Failed(Failure(error="The job's process died with the fork server of its worker."))
        try:
            code = int(end)
        except ValueError:
            return cannot_isolate(self._job, end)
        if code >= 0:
            how = f"ended with exit code {code} before its handler did"
        elif -code == signal.SIGKILL:
            how = (
                "was killed by signal 9 (SIGKILL), which is what happens when the machine has no memory left"
            )
        else:
            how = f"was killed by signal {-code} ({signal.strsignal(-code)})"
        return Failed(Failure(error=f"The job's process {how}."))


def cannot_isolate(job: RunningJob, why: str) -> Released:
    """Give it back: this worker cannot run it."""
    return released_for_longer(job, f"Worker {job.worker_id} cannot isolate jobs: {why}.")

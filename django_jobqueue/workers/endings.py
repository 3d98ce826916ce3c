"""The thread that sends ``job_finished``: receivers may be slow, and the thread that renews leases may not."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable

from django_jobqueue import signals
from django_jobqueue.jobs.model import Job
from django_jobqueue.workers import connections
from django_jobqueue.workers.job import RunningJob

logger = logging.getLogger("django_jobqueue.worker")

_MOST = 10_000  # signals that wait; a receiver that never returns must not fill the memory
_LOOK = 0.05  # seconds after which a stopping worker looks whether it may wait no longer


class Endings:
    """Ends of jobs in line for the receivers of ``job_finished``. Its thread starts with the first of them."""

    def __init__(self) -> None:
        self._line: queue.Queue[tuple[RunningJob, str] | None] = queue.Queue(_MOST)
        self._thread: threading.Thread | None = None
        self._dropped = 0

    def tell(self, job: RunningJob, outcome: str) -> None:
        """Send ``job_finished`` soon, if anybody listens."""
        if not signals.job_finished.receivers:
            return
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._send, name="jobqueue-signals", daemon=True)
            self._thread.start()
        try:
            self._line.put_nowait((job, outcome))
        except queue.Full:
            if not self._dropped:
                logger.error("Receivers of job_finished are %d jobs behind; signals are dropped", _MOST)
            self._dropped += 1
        else:
            self._dropped = 0

    def stop(self, deadline: float, hurry: Callable[[], bool]) -> None:
        """Send what waits, until ``deadline`` (monotonic) or until ``hurry`` says so; the rest is dropped."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        while self._line.unfinished_tasks and time.monotonic() < deadline and not hurry():
            thread.join(_LOOK)
            if not thread.is_alive():
                break
        if left := self._line.unfinished_tasks:
            logger.warning("The worker ends before the receivers of job_finished heard of %d jobs", left)
        with contextlib.suppress(queue.Full):
            self._line.put_nowait(None)
        if not left:
            thread.join(1.0)

    def _send(self) -> None:
        while (item := self._line.get()) is not None:
            job, outcome = item
            try:
                connections.prepare()
                signals.send(signals.job_finished, Job, job=job, outcome=outcome)
                connections.leave_clean()
            finally:
                del item, job
                self._line.task_done()
        connections.close()

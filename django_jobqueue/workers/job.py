"""What a handler is given: the claimed job, light, and tied to its claim."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from django_jobqueue.exceptions import ClaimLost
from django_jobqueue.jobs.model import Job

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager


class RunningJob:
    """A claimed job. Not a model: it has no ``save()``, and reading it costs no query."""

    __slots__ = (
        "_cancel_requested",
        "_manager",
        "claim_lost",
        "claimed_at",
        "fencing_token",
        "id",
        "idempotency_key",
        "max_retries",
        "meta",
        "payload",
        "priority",
        "queue",
        "retry_count",
        "type",
        "worker_id",
    )

    def __init__(self, manager: JobManager, job: Job) -> None:
        self._manager = manager
        self._cancel_requested = False
        self.claim_lost = False
        self.id: int = job.id
        self.type: str = job.type
        self.payload: dict[str, Any] = job.payload
        self.queue: str = job.queue
        self.priority: int = job.priority
        self.retry_count: int = job.retry_count
        self.max_retries: int = job.max_retries
        self.worker_id: str = job.worker_id
        self.fencing_token: int = job.fencing_token
        self.idempotency_key: str | None = job.idempotency_key
        self.meta: dict[str, Any] = job.meta
        self.claimed_at: datetime | None = job.claimed_at

    def __repr__(self) -> str:
        return f"<RunningJob {self.id} {self.type}>"

    @property
    def cancel_requested(self) -> bool:
        """Whether somebody asked to cancel this job; known at the latest a third of the lease after that.

        A handler that sees it may clean up and raise ``Cancelled``.
        """
        return self._cancel_requested

    def heartbeat(self, *, progress: Any = None) -> None:
        """Store ``progress`` (JSON) and extend the lease; the worker also does the latter by itself.

        Raises ``ClaimLost`` when the job was taken away meanwhile: stop then, another worker may run it.
        Inside a transaction of the handler the progress shows once that commits.
        """
        if self.claim_lost:
            raise ClaimLost(self.id)
        job = self._manager.heartbeat(self.id, fencing_token=self.fencing_token, progress=progress)
        if job.cancel_requested_at is not None:
            self._cancel_requested = True

    async def aheartbeat(self, *, progress: Any = None) -> None:
        """``heartbeat`` for async handlers."""
        await sync_to_async(self.heartbeat)(progress=progress)

    def note_cancel_request(self) -> None:
        """Called by the worker when a renewal tells that a cancel is requested."""
        self._cancel_requested = True

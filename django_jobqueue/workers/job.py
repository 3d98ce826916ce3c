"""What a handler is given: the claimed job, light, and tied to its claim."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async

from django_jobqueue.exceptions import ClaimLost
from django_jobqueue.vendors import Claim

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager


class RunningJob:
    """A claimed job. Not a model: it has no ``save()``, and reading it costs no query."""

    __slots__ = (
        "_cancel_requested",
        "_claim",
        "_manager",
        "_meta",
        "_payload",
        "claim_lost",
        "fencing_token",
        "id",
        "idempotency_key",
        "max_retries",
        "priority",
        "queue",
        "retry_count",
        "type",
    )

    id: int
    type: str
    queue: str
    priority: int
    retry_count: int
    max_retries: int
    fencing_token: int
    idempotency_key: str | None
    claim_lost: bool

    def __init__(self, manager: JobManager, claim: Claim, row: tuple[Any, ...]) -> None:
        """``row`` holds the columns that ``exchange`` returns, payload and meta as JSON text."""
        self._claim = claim
        self._manager = manager
        self._cancel_requested = False
        self.claim_lost = False
        (
            self.id,
            self.type,
            self._payload,
            self.queue,
            self.priority,
            self.retry_count,
            self.max_retries,
            self.fencing_token,
            self.idempotency_key,
            self._meta,
        ) = row

    def __repr__(self) -> str:
        return f"<RunningJob {self.id} {self.type}>"

    @property
    def worker_id(self) -> str:
        """The worker that holds the claim."""
        return self._claim.worker_id

    @property
    def payload(self) -> dict[str, Any]:
        """The payload, read anew at each access, so that nobody's change of it lasts."""
        payload: dict[str, Any] = json.loads(self._payload)
        return payload

    @property
    def meta(self) -> dict[str, Any]:
        """The job's meta data, read anew at each access."""
        meta: dict[str, Any] = json.loads(self._meta)
        return meta

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
        job = self._manager.heartbeat(
            self.id,
            fencing_token=self.fencing_token,
            lease_seconds=self._claim.lease_seconds,
            progress=progress,
        )
        if job.cancel_requested_at is not None:
            self._cancel_requested = True

    async def aheartbeat(self, *, progress: Any = None) -> None:
        """``heartbeat`` for async handlers."""
        await sync_to_async(self.heartbeat)(progress=progress)

    def note_cancel_request(self) -> None:
        """Called by the worker when a renewal tells that a cancel is requested."""
        self._cancel_requested = True

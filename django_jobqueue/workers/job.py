"""What a handler is given: the claimed job, light, and tied to its claim."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.db import connections

from django_jobqueue.exceptions import ClaimLost
from django_jobqueue.ledger.claim import Effect, OnStale
from django_jobqueue.ledger.keys import effect_key, execution_key
from django_jobqueue.ledger.once import STALE_AFTER, arun_once, describe, run_once
from django_jobqueue.ledger.transactions import in_transaction
from django_jobqueue.vendors import Claim, vendor_for
from django_jobqueue.workers.completion import Completion, complete_in_transaction

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager


class RunningJob:
    """A claimed job. Not a model: it has no ``save()``, and reading it costs no query."""

    __slots__ = (
        "_cancel_requested",
        "_claim",
        "_created_at",
        "_manager",
        "_meta",
        "_payload",
        "claim_lost",
        "completed",
        "fencing_token",
        "id",
        "idempotency_key",
        "max_retries",
        "priority",
        "quarantined",
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
    quarantined: bool
    """Whether an attempt of it was lost with its worker."""
    claim_lost: bool
    completed: bool
    """Whether the handler itself has completed the job, by ``complete_in_transaction``."""

    def __init__(self, manager: JobManager, claim: Claim, row: tuple[Any, ...]) -> None:
        """``row`` holds the columns that ``exchange`` returns, payload and meta as JSON text."""
        self._claim = claim
        self._manager = manager
        self._cancel_requested = False
        self.claim_lost = False
        self.completed = False
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
            self._created_at,
            self.quarantined,
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
    def created_at(self) -> datetime:
        """When the job was enqueued, by the database's clock."""
        created = vendor_for(connections[self._manager.write_alias]).load_instant(self._created_at)
        assert created is not None
        return created

    @property
    def cancel_requested(self) -> bool:
        """Whether somebody asked to cancel this job; known at the latest a third of the lease after that.

        A handler that sees it may clean up and raise ``Cancelled``.
        """
        return self._cancel_requested

    def heartbeat(self, *, progress: Any = None) -> None:
        """Store ``progress`` (JSON) and extend the lease; the worker also does the latter by itself.

        Raises ``ClaimLost`` when the job was taken away meanwhile: stop then, another worker may run it.
        Inside a transaction of the handler nothing is stored: the row would be locked until that ends, and the
        worker could not renew the lease meanwhile.
        """
        if self.claim_lost:
            raise ClaimLost(self.id)
        if in_transaction(self._manager.write_alias):
            return
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

    def once(
        self,
        name: str,
        func: Callable[..., Any],
        /,
        *args: Any,
        stale_after: float = STALE_AFTER,
        on_stale: OnStale = "retry",
        atomic: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Call ``func(*args, **kwargs)`` unless it succeeded before in an attempt of this job.

        The key of the effect is the job's idempotency key, or its id without one, and ``name``: 1 to 100
        characters, no colon. For everything else see ``django_jobqueue.once``.
        """
        effect = self._effect(name, stale_after=stale_after, on_stale=on_stale, atomic=atomic)
        return run_once(effect, partial(func, *args, **kwargs))

    async def aonce(
        self,
        name: str,
        func: Callable[..., Any],
        /,
        *args: Any,
        stale_after: float = STALE_AFTER,
        on_stale: OnStale = "retry",
        **kwargs: Any,
    ) -> Any:
        """``once`` for async handlers. A plain ``func`` is called in a thread. There is no ``atomic``."""
        effect = self._effect(name, stale_after=stale_after, on_stale=on_stale, atomic=False)
        return await arun_once(effect, partial(func, *args, **kwargs))

    def effect_key(self, name: str) -> str:
        """A UUID for the idempotency key of another service: the same at every attempt of this job.

        It is made of what ``once`` makes its key of. Without an idempotency key that is the job's id, which is
        unique in one database only.
        """
        return effect_key(self.id, self.idempotency_key, name)

    def complete_in_transaction(self) -> AbstractContextManager[Completion]:
        """A transaction on the default database that completes this job as its last act.

        What the block writes and the completion commit together, or neither does: when the claim is lost
        meanwhile, ``ClaimLost`` is raised at its end and all is rolled back. Set ``result`` of what the block
        gets; the handler's own result is not stored any more. Refused inside another transaction, and where
        the jobs are in another database.
        """
        return complete_in_transaction(self._manager, self)

    def _effect(self, name: str, *, stale_after: float, on_stale: OnStale, atomic: bool) -> Effect:
        return describe(
            execution_key(self.id, self.idempotency_key, name),
            stale_after=stale_after,
            on_stale=on_stale,
            atomic=atomic,
            job_type=self.type,
            owner=self.worker_id,
        )

    def parts(self) -> tuple[str, Claim, tuple[Any, ...]]:
        """The database, the claim and the row: what another process needs to make the same job."""
        row = (
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
            self._created_at,
            self.quarantined,
        )
        return self._manager.write_alias, self._claim, row

    def note_cancel_request(self) -> None:
        """Called by the worker when a renewal tells that a cancel is requested."""
        self._cancel_requested = True

"""The client whose methods are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from django_jobqueue.client import calls
from django_jobqueue.client.transport import TIMEOUT, TRIES, Attempts, headers_of, read, request_of
from django_jobqueue.client.values import Claim, Job, Lease

T = TypeVar("T")


class AsyncJobQueue:
    """The queue at ``url`` (where the protocol is mounted, such as ``https://shop.example``).

    ``token`` is that of DRF's token authentication; for any other way give ``http``, an ``httpx.AsyncClient`` with a
    ``base_url`` and what it needs to authenticate. ``tries`` bounds how often a call is sent. All methods raise
    ``Refused`` (``Invalid`` for a value out of range, ``ClaimLost`` for a claim that is no longer the caller's)
    and ``Unavailable``. Close it after use, or use it with ``async with``.
    """

    def __init__(
        self,
        url: str = "",
        *,
        token: str | None = None,
        http: httpx.AsyncClient | None = None,
        tries: int = TRIES,
        timeout: float = TIMEOUT,
    ) -> None:
        self._http = http or httpx.AsyncClient(base_url=url, headers=headers_of(token), timeout=timeout)
        self._tries = tries

    async def enqueue(
        self,
        type: str,
        payload: Mapping[str, Any] | None = None,
        *,
        queue: str | None = None,
        priority: str | int | None = None,
        max_retries: int | None = None,
        idempotency_key: str | None = None,
        run_at: datetime | str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Job:
        """Add a job. With an ``idempotency_key`` it is safe to repeat, and repeated when no answer comes."""
        options = {
            "queue": queue,
            "priority": priority,
            "max_retries": max_retries,
            "idempotency_key": idempotency_key,
            "run_at": run_at,
            "meta": meta,
        }
        return await self._send(calls.enqueue(type, payload, options))

    async def get(self, job_id: int) -> Job:
        """One job."""
        return await self._send(calls.get(job_id))

    async def jobs(self, **filters: str | int | Sequence[str]) -> AsyncIterator[Job]:
        """All jobs that match, the newest first; filters as in the protocol (``status="failed"``)."""
        page = await self._send(calls.page(filters))
        while True:
            for job in page.jobs:
                yield job
            if page.next is None:
                return
            page = await self._send(calls.next_page(page.next))

    async def claim(
        self,
        worker_id: str,
        *,
        queues: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        lease_seconds: float | None = None,
        wait_seconds: float | None = None,
    ) -> Claim | None:
        """Take the next job, or ``None``; waits up to ``wait_seconds`` for one (if the server speaks ASGI)."""
        options = calls.choice(queues, types, lease_seconds, wait_seconds)
        return await self._send(calls.claim(worker_id, options))

    async def claim_batch(
        self,
        worker_id: str,
        limit: int,
        *,
        queues: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        lease_seconds: float | None = None,
        wait_seconds: float | None = None,
    ) -> list[Claim]:
        """Take up to ``limit`` jobs; see ``claim``."""
        options = calls.choice(queues, types, lease_seconds, wait_seconds)
        return await self._send(calls.claim_batch(worker_id, limit, options))

    async def heartbeat(
        self, claim: Claim, *, lease_seconds: float | None = None, progress: Any = None
    ) -> Lease:
        """Renew the lease; tells whether the job is to be cancelled."""
        options = {"lease_seconds": lease_seconds, "progress": progress}
        return await self._send(calls.heartbeat(claim, options))

    async def complete(self, claim: Claim, result: Any = None) -> Job:
        """Report success."""
        return await self._send(calls.complete(claim, result))

    async def complete_batch(self, done: Iterable[tuple[Claim, Any]]) -> list[str]:
        """Report success of many claims, each with its result; an outcome per item: ``ok``, ``already``,
        ``claim_lost`` or ``not_found``.
        """
        return await self._send(calls.complete_batch(done))

    async def fail(
        self, claim: Claim, error: str, *, retryable: bool | None = None, retry_in: float | None = None
    ) -> Job:
        """Report a failure with its reason."""
        options = {"retryable": retryable, "retry_in": retry_in}
        return await self._send(calls.fail(claim, error, options))

    async def release(self, claim: Claim, *, retry_in: float | None = None) -> Job:
        """Give the job back, without counting a retry."""
        return await self._send(calls.release(claim, retry_in))

    async def cancel(self, job_id: int) -> Job:
        """Cancel a waiting job, or ask it of a running one."""
        return await self._send(calls.cancel(job_id))

    async def retry(self, job_id: int) -> Job:
        """Give a failed or cancelled job one more run."""
        return await self._send(calls.retry(job_id))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _send(self, call: calls.Call[T]) -> T:
        attempts = Attempts(call, self._tries)
        while True:
            try:
                response = await self._http.request(**request_of(call))
            except httpx.TransportError as error:
                wait = attempts.after(error)
            else:
                wait = attempts.after(response)
                if wait is None:
                    return read(call, response)
            await asyncio.sleep(wait or 0)

"""What the client returns: the protocol's objects, as far as a program needs their types."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as the server shows it. Times are texts in ISO 8601, in UTC."""

    id: int
    type: str
    payload: dict[str, Any] | None
    queue: str
    priority: str
    priority_value: int
    status: str
    run_at: str
    retry_count: int
    max_retries: int
    idempotency_key: str | None
    enqueued_by: str
    worker_id: str
    claimed_by: str
    claimed_at: str | None
    cancel_requested_at: str | None
    progress: Any
    error: str | None
    result: Any
    redacted: bool
    meta: dict[str, Any]
    created_at: str
    updated_at: str
    finished_at: str | None
    replayed: bool = False
    """On what ``enqueue`` returns: whether a job had the key already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Job):
    """A job that the caller holds until its lease has run out."""

    fencing_token: int
    lease_expires_at: str
    lease_expires_in: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The lease after a heartbeat, in seconds from then, and whether to stop."""

    lease_expires_at: str
    lease_expires_in: float
    cancel_requested: bool


def load(kind: type[T], body: dict[str, Any], **more: Any) -> T:
    """``body`` as a value; what a newer server adds is left out."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in body.items() if name in known}, **more)

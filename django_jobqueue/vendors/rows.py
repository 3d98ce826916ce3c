"""What vendors are told and tell: tables, rows and claims, without a model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The jobs' table: its name, the columns of a row in the order of what a claim returns, its indexes."""

    name: str
    columns: tuple[str, ...]
    claim_index: str
    due_index: str


class NewRow(NamedTuple):
    """One row to insert. ``payload`` and ``meta`` are JSON texts; ``delay`` is seconds from now."""

    type: str
    payload: str
    queue: str
    priority: int
    max_retries: int
    idempotency_key: str | None
    enqueued_by: str
    meta: str
    run_at: datetime | None = None
    delay: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a claim writes into the rows that it takes."""

    worker_id: str
    claimed_by: str
    lease_seconds: float


class HeldClaim(NamedTuple):
    """A claim that somebody holds, the JSON text that goes with it, if any, and whether to keep the row."""

    id: int
    fencing_token: int
    value: str | None = None
    keep: bool = True

"""The keys of a job's effects: the same for every attempt, derived from nothing that changes. Pure."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits

NAME_LENGTH = 100

_NAMESPACE = uuid.UUID("0f3f7c0e-6a39-5a0b-9a53-3f1c8f3f1d42")
_SHOWN = 80


def execution_key(job_id: int, idempotency_key: str | None, name: str) -> str:
    """The ledger's key of the effect ``name`` of a job: made of its idempotency key, or its id without one.

    No two jobs or names share one: the three beginnings keep keys, ids and shortened keys apart, and a name
    holds no colon. Raises ``InvalidJob`` for a name that is blank, too long or holds one.
    """
    key = _full_key(job_id, idempotency_key, name)
    if len(key) <= limits.KEY_LENGTH:
        return key
    assert idempotency_key is not None  # an id is short
    digest = hashlib.sha256(idempotency_key.encode()).hexdigest()
    return f"sha:{idempotency_key[:_SHOWN]}~{digest}:{name}"


def key_prefix(job_id: int, idempotency_key: str | None) -> str:
    """How the keys of all effects of a job begin, but for keys that had to be shortened."""
    return _full_key(job_id, idempotency_key, "_").removesuffix("_")


def job_of(key: str) -> dict[str, Any]:
    """What finds the job whose effect has this key in the ledger, as a filter; empty for other keys."""
    kind, _, rest = key.partition(":")
    holder, _, _ = rest.rpartition(":")
    if kind == "job" and holder.isascii() and holder.isdecimal() and int(holder) <= limits.MAX_ID:
        return {"pk": int(holder)}
    return {"idempotency_key": holder} if kind == "key" and holder else {}


def effect_key(job_id: int, idempotency_key: str | None, name: str) -> str:
    """A UUID for the other side's own idempotency key: 36 characters, the same at every attempt."""
    return str(uuid.uuid5(_NAMESPACE, _full_key(job_id, idempotency_key, name)))


def _full_key(job_id: int, idempotency_key: str | None, name: str) -> str:
    limits.check_text("name", name, NAME_LENGTH)
    if ":" in name:
        raise InvalidJob("name", "must not contain a colon, which ends the job's part of the key.")
    return f"job:{job_id}:{name}" if idempotency_key is None else f"key:{idempotency_key}:{name}"

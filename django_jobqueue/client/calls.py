"""The calls of the protocol, without sending them: what to send, and how to read the answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django_jobqueue.client.values import Claim, Job, Lease, load

T = TypeVar("T")

Query = Mapping[str, str | int | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call. ``repeatable`` says that sending it twice does what sending it once does."""

    method: str
    path: str
    read: Callable[[Any, Mapping[str, str]], T]
    body: Any = None
    query: Query | None = None
    repeatable: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list, and where the next one is."""

    jobs: list[Job]
    next: str | None


def enqueue(type: str, payload: Mapping[str, Any] | None, options: Mapping[str, Any]) -> Call[Job]:
    run_at = options.get("run_at")
    options = {**options, "run_at": run_at.isoformat() if isinstance(run_at, datetime) else run_at}
    repeatable = options.get("idempotency_key") is not None
    body = _given(type=type, payload=payload, **options)
    return Call("POST", "/jobs", _enqueued, body, repeatable=repeatable)


def get(job_id: int) -> Call[Job]:
    return Call("GET", f"/jobs/{job_id}", _job)


def page(query: Query) -> Call[Page]:
    return Call("GET", "/jobs", _page, query=query)


def next_page(url: str) -> Call[Page]:
    return Call("GET", url, _page)


def choice(
    queues: Sequence[str] | None,
    types: Sequence[str] | None,
    lease_seconds: float | None,
    wait_seconds: float | None,
) -> dict[str, Any]:
    """The options of a claim."""
    return {
        "queues": queues,
        "types": types,
        "lease_seconds": lease_seconds,
        "wait_seconds": wait_seconds,
    }


def claim(worker_id: str, options: Mapping[str, Any]) -> Call[Claim | None]:
    body = _given(worker_id=worker_id, request_id=str(uuid.uuid4()), **options)
    return Call("POST", "/jobs/claim", lambda answer, _: answer and load(Claim, answer), body)


def claim_batch(worker_id: str, limit: int, options: Mapping[str, Any]) -> Call[list[Claim]]:
    body = _given(worker_id=worker_id, limit=limit, request_id=str(uuid.uuid4()), **options)
    return Call(
        "POST", "/jobs/claim-batch", lambda answer, _: [load(Claim, job) for job in answer["jobs"]], body
    )


def heartbeat(held: Claim, options: Mapping[str, Any]) -> Call[Lease]:
    return Call(
        "POST", f"/jobs/{held.id}/heartbeat", lambda answer, _: load(Lease, answer), _fenced(held, options)
    )


def complete(held: Claim, result: Any) -> Call[Job]:
    return Call("POST", f"/jobs/{held.id}/complete", _job, _fenced(held, {"result": result}))


def complete_batch(done: Iterable[tuple[Claim, Any]]) -> Call[list[str]]:
    items = [{"id": held.id, **_fenced(held, {"result": result})} for held, result in done]
    return Call(
        "POST",
        "/jobs/complete-batch",
        lambda answer, _: [one["outcome"] for one in answer["outcomes"]],
        items,
    )


def fail(held: Claim, error: str, options: Mapping[str, Any]) -> Call[Job]:
    return Call("POST", f"/jobs/{held.id}/fail", _job, _fenced(held, {"error": error, **options}))


def release(held: Claim, retry_in: float | None) -> Call[Job]:
    # Not repeatable: the answer to a release that was carried out is that the claim is no more.
    body = _fenced(held, {"retry_in": retry_in})
    return Call("POST", f"/jobs/{held.id}/release", _job, body, repeatable=False)


def cancel(job_id: int) -> Call[Job]:
    return Call("POST", f"/jobs/{job_id}/cancel", _job, {})


def retry(job_id: int) -> Call[Job]:
    return Call("POST", f"/jobs/{job_id}/retry", _job, {}, repeatable=False)


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _fenced(held: Claim, fields: Mapping[str, Any]) -> dict[str, Any]:
    return _given(fencing_token=held.fencing_token, **fields)


def _job(answer: Any, headers: Mapping[str, str]) -> Job:
    return load(Job, answer)


def _enqueued(answer: Any, headers: Mapping[str, str]) -> Job:
    return load(Job, answer, replayed=headers.get("Idempotent-Replayed") == "true")


def _page(answer: Any, headers: Mapping[str, str]) -> Page:
    return Page([load(Job, job) for job in answer["results"]], answer["next"])

"""What was enqueued, and what was not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django_jobqueue.models import Job
from django_jobqueue.registry import Handler

_SHOWN = 20


def assert_enqueued(
    type: str | Handler, payload: Mapping[str, Any] | None = None, *, count: int | None = None, **fields: Any
) -> list[Job]:
    """Assert that jobs of ``type`` (a name or a handler) wait, and return them, the oldest first.

    Jobs wait while they are pending or scheduled. ``payload`` names entries that a job's payload must have, with
    these values; it may have more. ``count`` is how many there must be; without it, one or more. ``fields`` are
    look-ups of Django for other columns: ``queue="mail"``, ``run_at__gt=...``.
    """
    found = _find(type, payload, fields)
    if found if count is None else len(found) == count:
        return found
    expected = "at least one" if count is None else str(count)
    raise AssertionError(
        f"Expected {expected} of {_describe(type, payload, fields)} to be enqueued, found {len(found)}. {_waiting()}"
    )


def refute_enqueued(type: str | Handler, payload: Mapping[str, Any] | None = None, **fields: Any) -> None:
    """Assert that no such job waits; see ``assert_enqueued``."""
    if found := _find(type, payload, fields):
        raise AssertionError(
            f"Expected no {_describe(type, payload, fields)} to be enqueued, found {len(found)}. {_waiting()}"
        )


def _find(type: str | Handler, payload: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> list[Job]:
    jobs = _jobs().filter(type=_name(type), **fields)
    return [job for job in jobs if payload is None or _has(job.payload, payload)]


def _jobs() -> Any:
    alias = Job.objects.write_alias
    return Job.objects.using(alias).filter(status__in=("pending", "scheduled")).order_by("id")


def _has(payload: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    return all(name in payload and payload[name] == value for name, value in expected.items())


def _name(type: str | Handler) -> str:
    return type.type if isinstance(type, Handler) else type


def _describe(type: str | Handler, payload: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> str:
    conditions = {**({} if payload is None else {"payload": dict(payload)}), **fields}
    described = ", ".join(f"{name}={value!r}" for name, value in conditions.items())
    return f"{_name(type)!r}" + (f" ({described})" if described else "")


def _waiting() -> str:
    lines = [f"{job.type!r} {job.payload!r} in {job.queue!r}, {job.status}" for job in _jobs()[: _SHOWN + 1]]
    if not lines:
        return "No job waits."
    more = ["..."] if len(lines) > _SHOWN else []
    return "\n  ".join(["These wait:", *lines[:_SHOWN], *more])

"""A job that is to be: what callers give, checked into the row to insert."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django_jobqueue import registry
from django_jobqueue.backoff import Backoff, to_meta
from django_jobqueue.conf import settings
from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.priority import parse_priority
from django_jobqueue.vendors import NewRow


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """One job of ``enqueue_many``; the fields mean what they mean in ``enqueue``."""

    type: str
    payload: Mapping[str, Any] | None = None
    queue: str | None = None
    priority: int | str | None = None
    max_retries: int | None = None
    backoff: Backoff | str | None = None
    idempotency_key: str | None = None
    run_at: datetime | timedelta | None = None
    meta: Mapping[str, Any] | None = None


TASK = "_task"
"""The entry of a job's ``meta`` that makes it a task."""


class ReservedMeta(dict[str, Any]):
    """``meta`` that the package itself writes, which may have the reserved names. No JSON becomes one."""


_FIELDS = tuple(NewJob.__dataclass_fields__)


class RowMaker:
    """Makes rows of what one caller gives; what many rows have in common is checked once."""

    def __init__(self, enqueued_by: str) -> None:
        self._enqueued_by = enqueued_by
        if enqueued_by:
            limits.check_text("enqueued_by", enqueued_by, limits.PRINCIPAL_LENGTH)
        self._settings = settings()
        self._checked: dict[tuple[Any, ...], tuple[str, int, int]] = {}

    def from_item(self, item: NewJob | Mapping[str, Any]) -> NewRow:
        """An item of ``enqueue_many``. Raises ``InvalidJob``."""
        if isinstance(item, NewJob):
            return self.row(**{name: getattr(item, name) for name in _FIELDS})
        if isinstance(item, Mapping) and "type" in item and all(name in _FIELDS for name in item):
            return self.row(**item)
        if not isinstance(item, Mapping):
            raise InvalidJob("", "must be a NewJob or a dict.")
        unknown = sorted(str(name) for name in item if name not in _FIELDS)
        problem = f"has the unknown entry {unknown[0]!r}" if unknown else "has no type"
        raise InvalidJob("", f"{problem}; it may have {', '.join(_FIELDS)}.")

    def row(
        self,
        type: str,
        payload: Mapping[str, Any] | None = None,
        queue: str | None = None,
        priority: int | str | None = None,
        max_retries: int | None = None,
        backoff: Backoff | str | None = None,
        idempotency_key: str | None = None,
        run_at: datetime | timedelta | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> NewRow:
        """The arguments of ``enqueue`` as a row. Raises ``InvalidJob``."""
        # The types belong to the key: True equals 1 and is no priority.
        common = (type, queue, priority, max_retries, priority.__class__, max_retries.__class__)
        try:
            checked = self._checked[common]
        except (KeyError, TypeError):  # the latter: something unhashable, which the checks will name
            checked = self._check(type, queue, priority, max_retries)
            self._checked[common] = checked
        text = "{}"
        if payload is not None:
            text = limits.dump_object("payload", payload, self._settings.MAX_PAYLOAD_BYTES)
        if idempotency_key is not None:
            limits.check_text("idempotency_key", idempotency_key, limits.KEY_LENGTH)
        delay = 0.0
        if isinstance(run_at, timedelta):
            delay = limits.check_delay("run_at", run_at)
            run_at = None
        elif run_at is not None:
            run_at = limits.check_time("run_at", run_at)
        stored_meta = "{}" if meta is None and backoff is None else _meta(meta, backoff)
        return NewRow(type, text, *checked, idempotency_key, self._enqueued_by, stored_meta, run_at, delay)

    def _check(
        self, type: str, queue: str | None, priority: int | str | None, max_retries: int | None
    ) -> tuple[str, int, int]:
        limits.check_text("type", type, limits.TYPE_LENGTH)
        handler = registry.get(type)
        if queue is None:
            queue = handler.queue if handler else "default"
        if priority is None:
            priority = handler.priority if handler else 0
        if max_retries is None and handler is not None:
            max_retries = handler.max_retries
        if max_retries is None:
            max_retries = self._settings.MAX_RETRIES
        return (
            limits.check_text("queue", queue, limits.QUEUE_LENGTH),
            parse_priority(priority),
            limits.check_integer("max_retries", max_retries, 0, limits.MAX_RETRIES),
        )


def _meta(meta: Mapping[str, Any] | None, backoff: Backoff | str | None) -> str:
    given = meta if meta is not None else {}
    text = limits.dump_object("meta", given, limits.META_BYTES)
    for name in () if isinstance(given, ReservedMeta) else given:
        if name.startswith("_"):
            raise InvalidJob("meta", f"{name[:50]!r}: names that start with _ are reserved.")
    if backoff is None:
        return text
    try:
        return limits.dump_object("meta", {**given, "_backoff": to_meta(backoff)}, limits.META_BYTES)
    except (ImportError, ValueError) as error:
        raise InvalidJob("backoff", str(error)) from None

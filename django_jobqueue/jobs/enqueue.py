"""-> pending | scheduled."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import connections

from django_jobqueue import registry, signals
from django_jobqueue.backoff import Backoff, to_meta
from django_jobqueue.conf import settings
from django_jobqueue.exceptions import IdempotencyMismatch, InvalidJob, KeysBusy
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.priority import parse_priority
from django_jobqueue.jobs.queryset import table_of
from django_jobqueue.vendors import NewRow, retry_transient, vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job

logger = logging.getLogger("django_jobqueue")

_CHUNK_ROWS = 1000
_CHUNK_BYTES = 4 * 1024 * 1024  # a server may refuse a statement of 16 MiB
_TRIES = 6  # a taken key whose job is pruned before it can be read is free again


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


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What became of one item: its job, created or found by its key, or why it was refused."""

    job: Job | None
    error: IdempotencyMismatch | None = None

    @property
    def outcome(self) -> str:
        """``created``, ``replayed`` or ``rejected``."""
        if self.job is None:
            return "rejected"
        return "replayed" if self.job.replayed else "created"


def enqueue(
    manager: JobManager,
    type: str,
    payload: Mapping[str, Any] | None = None,
    *,
    queue: str | None = None,
    priority: int | str | None = None,
    max_retries: int | None = None,
    backoff: Backoff | str | None = None,
    idempotency_key: str | None = None,
    run_at: datetime | timedelta | None = None,
    meta: Mapping[str, Any] | None = None,
    enqueued_by: str = "",
) -> Job:
    """Add a job, in the caller's transaction if there is one.

    With an ``idempotency_key`` that a job has already, that job is returned (``job.replayed`` is true) and
    nothing is added, whatever the race. What is left out comes from the handler of ``type``, if this process
    has it, and then from the settings. ``run_at`` is a point in time (a naive one is read in ``TIME_ZONE``)
    or a timedelta from now. Raises ``InvalidJob`` naming the argument, before the database is asked,
    ``IdempotencyMismatch`` with ``IDEMPOTENCY_MISMATCH = "reject"``, and ``KeysBusy`` when the job of the key
    comes and goes faster than it can be read.
    """
    new = NewJob(
        type=type,
        payload=payload,
        queue=queue,
        priority=priority,
        max_retries=max_retries,
        backoff=backoff,
        idempotency_key=idempotency_key,
        run_at=run_at,
        meta=meta,
    )
    outcome = _enqueue(manager, [_row(new, enqueued_by)])[0]
    if outcome.error is not None:
        raise outcome.error
    assert outcome.job is not None
    return outcome.job


def enqueue_many(
    manager: JobManager, jobs: Iterable[NewJob | Mapping[str, Any]], *, enqueued_by: str = ""
) -> list[Enqueued]:
    """Add many jobs in few statements; the rules of ``enqueue`` hold for each. Returns an outcome per item.

    All items are checked first: ``InvalidJob`` names the first bad one, and then nothing was added. A key
    that occurs twice among the items is one job. Wrap the call in ``atomic`` to add all or none.
    """
    rows = []
    for index, item in enumerate(jobs):
        try:
            rows.append(_row(item if isinstance(item, NewJob) else NewJob(**item), enqueued_by))
        except InvalidJob as error:
            raise InvalidJob(f"jobs[{index}].{error.field}", error.problem) from None
        except TypeError as error:
            raise InvalidJob(f"jobs[{index}]", str(error)) from None
    return [outcome for chunk in _chunks(rows) for outcome in _enqueue(manager, chunk)]


def _chunks(rows: Iterable[NewRow]) -> Iterator[list[NewRow]]:
    chunk: list[NewRow] = []
    size = 0
    for row in rows:
        size += len(row.payload.encode()) + len(row.meta.encode())
        if chunk and (size > _CHUNK_BYTES or len(chunk) == _CHUNK_ROWS):
            yield chunk
            chunk, size = [], len(row.payload.encode()) + len(row.meta.encode())
        chunk.append(row)
    if chunk:
        yield chunk


def _row(new: NewJob, enqueued_by: str) -> NewRow:
    type = limits.check_text("type", new.type, limits.TYPE_LENGTH)
    handler = registry.get(type)
    queue = new.queue if new.queue is not None else handler.queue if handler else "default"
    priority = new.priority if new.priority is not None else handler.priority if handler else 0
    max_retries = new.max_retries
    if max_retries is None and handler is not None:
        max_retries = handler.max_retries
    if max_retries is None:
        max_retries = settings().MAX_RETRIES
    key = new.idempotency_key
    run_at, delay = None, 0.0
    if isinstance(new.run_at, timedelta):
        delay = limits.check_delay("run_at", new.run_at)
    elif new.run_at is not None:
        run_at = limits.check_time("run_at", new.run_at)
    return NewRow(
        type=type,
        payload="{}"
        if new.payload is None
        else limits.dump_object("payload", new.payload, settings().MAX_PAYLOAD_BYTES),
        queue=limits.check_text("queue", queue, limits.QUEUE_LENGTH),
        priority=parse_priority(priority),
        max_retries=limits.check_integer("max_retries", max_retries, 0, limits.MAX_RETRIES),
        idempotency_key=None if key is None else limits.check_text("idempotency_key", key, limits.KEY_LENGTH),
        enqueued_by=enqueued_by and limits.check_text("enqueued_by", enqueued_by, limits.PRINCIPAL_LENGTH),
        meta=_meta(new),
        run_at=run_at,
        delay=delay,
    )


def _meta(new: NewJob) -> str:
    if new.meta is None and new.backoff is None:
        return "{}"
    given = new.meta if new.meta is not None else {}
    text = limits.dump_object("meta", given, limits.META_BYTES)
    for name in given:
        if name.startswith("_"):
            raise InvalidJob("meta", f"{name[:50]!r}: names that start with _ are reserved.")
    if new.backoff is None:
        return text
    try:
        return limits.dump_object("meta", {**given, "_backoff": to_meta(new.backoff)}, limits.META_BYTES)
    except (ImportError, ValueError) as error:
        raise InvalidJob("backoff", str(error)) from None


def _enqueue(manager: JobManager, rows: Sequence[NewRow]) -> list[Enqueued]:
    """Insert ``rows`` and say what became of each: a check for the key first, then the unique key itself."""
    outcomes: dict[int, Enqueued] = {}
    todo = list(range(len(rows)))
    for attempt in range(_TRIES):
        keys = [key for index in todo if (key := rows[index].idempotency_key) is not None]
        # A key that is taken by a job which the caller's snapshot does not show: a read that locks does.
        found = _find(manager, keys, locking=attempt > 1)
        fresh: dict[str | int, int] = {}
        for index in todo:
            key = rows[index].idempotency_key
            if key is not None and key in found:
                outcomes[index] = _replay(rows[index], found[key])
            else:
                fresh.setdefault(index if key is None else key, index)
        for index, job in _insert(manager, rows, list(fresh.values())):
            outcomes[index] = Enqueued(job)
        todo = [index for index in todo if index not in outcomes]
        if not todo:
            return [outcomes[index] for index in range(len(rows))]
    raise KeysBusy


def _find(manager: JobManager, keys: Sequence[str], *, locking: bool) -> dict[str, Job]:
    if not keys:
        return {}
    jobs = manager.using(manager.write_alias).filter(idempotency_key__in=keys)
    if locking and connections[manager.write_alias].in_atomic_block:
        jobs = jobs.select_for_update()
    return {job.idempotency_key: job for job in jobs if job.idempotency_key is not None}


def _replay(row: NewRow, job: Job) -> Enqueued:
    job.replayed = True
    if different := _difference(row, job):
        error = IdempotencyMismatch(job.pk, different)
        if settings().IDEMPOTENCY_MISMATCH == "reject":
            return Enqueued(None, error)
        logger.warning("Enqueue by the key of job %s, which has a different %s", job.pk, different)
        job.mismatch = different
    return Enqueued(job)


def _difference(row: NewRow, job: Job) -> str:
    if job.type != row.type:
        return "type"
    return "payload" if job.payload != json.loads(row.payload) else ""


def _insert(manager: JobManager, rows: Sequence[NewRow], chosen: Sequence[int]) -> list[tuple[int, Job]]:
    """Insert the chosen rows; (index, job) of those whose key was free."""
    if not chosen:
        return []
    connection = connections[manager.write_alias]
    vendor = vendor_for(connection)
    table = table_of(manager.model)
    new = [rows[index] for index in chosen]
    inserted = retry_transient(connection, lambda: vendor.insert(connection, table, new))
    by_key = {rows[index].idempotency_key: index for index in chosen}
    keyless = (index for index in chosen if rows[index].idempotency_key is None)
    jobs = []
    for id, key, status, run_at, created_at in inserted:
        index = next(keyless) if key is None else by_key[key]
        created = vendor.load_instant(created_at)
        job = _job(manager, rows[index], id, status, vendor.load_instant(run_at), created)
        signals.send(signals.job_enqueued, manager.model, job_id=id, type=job.type, queue=job.queue)
        jobs.append((index, job))
    return jobs


def _job(manager: JobManager, row: NewRow, id: int, status: str, run_at: Any, created: Any) -> Job:
    job = manager.model(
        id=id,
        type=row.type,
        payload=json.loads(row.payload),
        queue=row.queue,
        priority=row.priority,
        status=status,
        run_at=run_at,
        max_retries=row.max_retries,
        idempotency_key=row.idempotency_key,
        enqueued_by=row.enqueued_by,
        meta=json.loads(row.meta),
        created_at=created,
        updated_at=created,
    )
    job._state.adding = False
    job._state.db = manager.write_alias
    return job

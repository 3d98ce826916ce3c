"""-> pending | scheduled."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import connections
from django.views.decorators.debug import sensitive_variables

from django_jobqueue import signals
from django_jobqueue.backoff import Backoff
from django_jobqueue.conf import settings
from django_jobqueue.exceptions import IdempotencyMismatch, InvalidJob, KeysBusy
from django_jobqueue.jobs.new_job import NewJob, RowMaker
from django_jobqueue.jobs.notify import tell_workers
from django_jobqueue.jobs.queryset import table_of
from django_jobqueue.vendors import NewRow, retry_transient, vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job

logger = logging.getLogger("django_jobqueue")

_CHUNK_BYTES = 4 * 1024 * 1024  # a server may refuse a statement of 16 MiB
_TRIES = 6  # a taken key whose job is pruned before it can be read is free again

_ALL = ("id", "idempotency_key", "status", "run_at", "created_at")
_FEW = ("id", "idempotency_key")


class Enqueued:
    """What became of one item: its job, created or found by its key, or why it was refused."""

    __slots__ = ("_job", "_manager", "error", "id", "replayed")

    def __init__(
        self,
        manager: JobManager,
        id: int | None,
        *,
        job: Job | None = None,
        replayed: bool = False,
        error: IdempotencyMismatch | None = None,
    ) -> None:
        self._manager = manager
        self._job = job
        self.id = id
        self.replayed = replayed
        self.error = error

    @property
    def job(self) -> Job | None:
        """The job, read from the database when it is first asked for.

        ``None`` when the item was refused, or when the job has been pruned meanwhile.
        """
        if self._job is None and self.id is not None:
            self._job = self._manager.using(self._manager.write_alias).filter(pk=self.id).first()
        return self._job

    @property
    def outcome(self) -> str:
        """``created``, ``replayed`` or ``rejected``."""
        return "rejected" if self.error is not None else "replayed" if self.replayed else "created"


@sensitive_variables()  # an error report shows nothing of a payload, in this frame and those below
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
    row = RowMaker(enqueued_by).row(
        type, payload, queue, priority, max_retries, backoff, idempotency_key, run_at, meta
    )
    outcome = _enqueue(manager, [row], _ALL)[0]
    if outcome.error is not None:
        raise outcome.error
    assert outcome.job is not None
    return outcome.job


@sensitive_variables()
def enqueue_many(
    manager: JobManager, jobs: Iterable[NewJob | Mapping[str, Any]], *, enqueued_by: str = ""
) -> list[Enqueued]:
    """Add many jobs in few statements; the rules of ``enqueue`` hold for each. Returns an outcome per item.

    All items are checked first: ``InvalidJob`` names the first bad one, and then nothing was added. A key
    that occurs twice among the items is one job. Wrap the call in ``atomic`` to add all or none.
    """
    make = RowMaker(enqueued_by).from_item
    rows = []
    for item in jobs:
        try:
            rows.append(make(item))
        except InvalidJob as error:
            field = f"jobs[{len(rows)}]" + (f".{error.field}" if error.field else "")
            raise InvalidJob(field, error.problem) from None
    most = vendor_for(connections[manager.write_alias]).rows_a_statement
    return [outcome for chunk in _chunks(rows, most) for outcome in _enqueue(manager, chunk, _FEW)]


def _chunks(rows: Iterable[NewRow], most: int) -> Iterator[list[NewRow]]:
    chunk: list[NewRow] = []
    size = 0
    for row in rows:
        bytes_of_row = 4 * (len(row.payload) + len(row.meta))  # a character has four bytes of UTF-8 at most
        if chunk and (size + bytes_of_row > 4 * _CHUNK_BYTES or len(chunk) == most):
            yield chunk
            chunk, size = [], 0
        size += bytes_of_row
        chunk.append(row)
    if chunk:
        yield chunk


def _enqueue(manager: JobManager, rows: Sequence[NewRow], columns: Sequence[str]) -> list[Enqueued]:
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
                outcomes[index] = _replay(manager, rows[index], found[key])
            else:
                fresh.setdefault(index if key is None else key, index)
        outcomes.update(_insert(manager, rows, list(fresh.values()), columns))
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


def _replay(manager: JobManager, row: NewRow, found: Job) -> Enqueued:
    job = copy(found)  # several items may have this key, each with a mismatch of its own
    job.replayed = True
    if different := _difference(row, job):
        error = IdempotencyMismatch(job.pk, different)
        if settings().IDEMPOTENCY_MISMATCH == "reject":
            return Enqueued(manager, None, error=error)
        logger.warning("Enqueue by the key of job %s, which has a different %s", job.pk, different)
        job.mismatch = different
    return Enqueued(manager, job.pk, job=job, replayed=True)


def _difference(row: NewRow, job: Job) -> str:
    if job.type != row.type:
        return "type"
    return "" if _same(job.payload, json.loads(row.payload)) else "payload"


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; to Python alone ``True``, ``1`` and ``1.0`` are."""
    if one.__class__ is not other.__class__ or one != other:
        return False
    if isinstance(one, dict):
        return all(_same(value, other[name]) for name, value in one.items())
    return not isinstance(one, list) or all(map(_same, one, other))


def _insert(
    manager: JobManager, rows: Sequence[NewRow], chosen: Sequence[int], columns: Sequence[str]
) -> dict[int, Enqueued]:
    """Insert the chosen rows; what became, by index, of those whose key was free."""
    if not chosen:
        return {}
    connection = connections[manager.write_alias]
    vendor = vendor_for(connection)
    table = table_of(manager.model)
    new = [rows[index] for index in chosen]
    inserted = retry_transient(connection, lambda: vendor.insert(connection, table, new, columns=columns))
    by_key = {rows[index].idempotency_key: index for index in chosen}
    keyless = (index for index in chosen if rows[index].idempotency_key is None)
    outcomes = {}
    for id, key, *rest in inserted:
        index = next(keyless) if key is None else by_key[key]
        job = _job(manager, rows[index], id, rest) if rest else None
        outcomes[index] = Enqueued(manager, id, job=job)
    for index, outcome in outcomes.items() if signals.job_enqueued.receivers else ():
        row = rows[index]
        signals.send(signals.job_enqueued, manager.model, job_id=outcome.id, type=row.type, queue=row.queue)
    for queue in {row.queue for row in new}:
        tell_workers(manager, queue)
    return outcomes


def _job(manager: JobManager, row: NewRow, id: int, rest: Sequence[Any]) -> Job:
    vendor = vendor_for(connections[manager.write_alias])
    status, run_at, created_at = rest
    created: Any = vendor.load_instant(created_at)
    starts: Any = vendor.load_instant(run_at)
    job = manager.model(
        id=id,
        type=row.type,
        payload=json.loads(row.payload),
        queue=row.queue,
        priority=row.priority,
        status=status,
        run_at=starts,
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

"""Reading jobs, and the one form in which a job changes: a guarded UPDATE whose row count is the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from django.core.exceptions import EmptyResultSet
from django.db import connections, models, transaction
from django.db.models import Q, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import In
from django.db.models.sql import UpdateQuery

from django_jobqueue.jobs.status import sources
from django_jobqueue.vendors import Now, Table, Vendor, retry_transient, vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.attempt import JobAttempt
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job


class JobQuerySet(models.QuerySet["Job"]):
    """Jobs, with the filters that people ask for."""

    def stale(self) -> JobQuerySet:
        """Running jobs whose lease has run out."""
        return self.filter(status="running", lease_expires_at__lte=Now())

    def without_payloads(self) -> JobQuerySet:
        """The same jobs; payload, result, progress, error and meta are loaded only when read."""
        return self.defer("payload", "result", "progress", "error", "meta")


@cache
def table_of(model: type[Job]) -> Table:
    """The jobs' table as vendors know it."""
    names = tuple(field.attname for field in model._meta.concrete_fields)
    return Table(
        model._meta.db_table, names, claim_index="jobqueue_job_pending", due_index="jobqueue_job_scheduled"
    )


def attempts_of(manager: JobManager) -> models.QuerySet[JobAttempt]:
    """The attempts in the jobs' database."""
    model: Any = manager.model._meta.get_field("attempts").related_model
    attempts: models.QuerySet[JobAttempt] = model._base_manager.using(manager.write_alias)
    return attempts


@cache
def _loaders(model: type[Job], vendor: Vendor) -> tuple[tuple[int, Callable[[Any], Any]], ...]:
    loaders: list[tuple[int, Callable[[Any], Any]]] = []
    for index, field in enumerate(model._meta.concrete_fields):
        if isinstance(field, models.DateTimeField):
            loaders.append((index, vendor.load_instant))
        elif isinstance(field, models.JSONField):
            loaders.append((index, vendor.load_json))
    return tuple(loaders)


def load_jobs(manager: JobManager, rows: Iterable[Sequence[Any]]) -> list[Job]:
    """Rows of ``table_of(...).columns`` as jobs, in the order given."""
    alias = manager.write_alias
    model = manager.model
    loaders = _loaders(model, vendor_for(connections[alias]))
    names = list(table_of(model).columns)
    jobs = []
    for row in rows:
        values = list(row)
        for index, load in loaders:
            values[index] = load(values[index])
        jobs.append(model.from_db(alias, names, values))
    return jobs


def in_source_of(verb: str) -> In:
    """That a job is in a source status of ``verb``, said so that no index of a status fits.

    A job that is known by its id must be reached by that: a planner that believes that few jobs run would
    rather visit each of them.
    """
    return In(Coalesce("status", Value("")), sources(verb))


def transition(
    manager: JobManager, job_id: int, verb: str, guard: Q | None = None, **changes: Any
) -> Job | None:
    """One guarded UPDATE of one job that is in a source status of ``verb``; the job afterwards, or ``None``.

    ``None`` means that nothing was changed: no such job, another status, or ``guard`` did not hold.
    """
    alias = manager.write_alias
    connection = connections[alias]
    vendor = vendor_for(connection)
    queryset = manager.using(alias).filter(guard or Q(), in_source_of(verb), pk=job_id)
    changes.setdefault("updated_at", Now())
    if not vendor.returns_updated_rows:

        def update_then_read() -> Job | None:
            with transaction.atomic(using=alias):
                return manager.using(alias).get(pk=job_id) if queryset.update(**changes) else None

        return retry_transient(connection, update_then_read)

    def update() -> Job | None:
        query: Any = queryset.query.chain(UpdateQuery)
        query.add_update_values(changes)
        try:
            sql, params = query.get_compiler(alias).as_sql()
        except EmptyResultSet:  # an id or a token past 64 bits, which no row has
            return None
        with connection.cursor() as cursor:
            cursor.execute(f"{sql} RETURNING {', '.join(table_of(manager.model).columns)}", params)
            rows = cursor.fetchall()
        return load_jobs(manager, rows)[0] if rows else None

    return retry_transient(connection, update)

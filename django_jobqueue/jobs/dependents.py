"""Rows of the project that refer to the package's own, by any relation: they decide what may be deleted, and how."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from typing import Any

from django.db import IntegrityError, connections, models, transaction
from django.db.models.deletion import Collector

logger = logging.getLogger("django_jobqueue")

_APP = "django_jobqueue"


class Pruned(int):
    """How many rows were deleted, and how many stay because the project's rows refer to them."""

    kept: int

    def __new__(cls, deleted: int, kept: int = 0) -> Pruned:
        pruned = super().__new__(cls, deleted)
        pruned.kept = kept
        return pruned


def has_dependents(*owned: type[models.Model]) -> bool:
    """Whether any model outside the package refers to one of these; if none does, rows can go without a look."""
    return any(
        True for model in owned for field in _relations(model) if field.related_model._meta.app_label != _APP
    )


def delete_with_dependents(rows: models.QuerySet[Any], ids: Collection[Any]) -> int:
    """Delete the rows of these ids as the ``on_delete`` of what refers to them says; returns how many.

    A row that may not go (PROTECT, RESTRICT, a constraint of the database) stays, and all others go.
    """
    if not ids:
        return 0
    try:
        with transaction.atomic(using=rows.db):
            chosen = rows.filter(pk__in=ids)
            collector = Collector(using=rows.db, origin=chosen)
            collector.collect(chosen)
            collector.delete()
            _check_constraints(rows)
    except IntegrityError:  # of which ProtectedError and RestrictedError are two
        if len(ids) == 1:
            return 0
        listed = list(ids)
        middle = len(listed) // 2
        halves = listed[:middle], listed[middle:]
        return sum(delete_with_dependents(rows, half) for half in halves)
    return len(ids)


def delete_completed(rows: models.QuerySet[Any], ids: Collection[Any]) -> None:
    """Delete jobs that have completed and need not be kept. What goes wrong leaves their rows to a prune.

    Within the caller's transaction it is raised instead, since that may not be usable any more.
    """
    try:
        delete_with_dependents(rows, ids)
    except Exception:  # receivers and on_delete functions of the project may raise anything
        if connections[rows.db].in_atomic_block:
            raise
        logger.exception("%d completed jobs could not be deleted; their rows stay until pruned", len(ids))


def _relations(model: type[models.Model]) -> Iterator[Any]:
    """What refers to ``model``: foreign keys, also those of many-to-many tables, and generic relations."""
    for field in model._meta.get_fields(include_hidden=True):
        if field.auto_created and not field.concrete and (field.one_to_one or field.one_to_many):
            yield field
    yield from (field for field in model._meta.private_fields if hasattr(field, "bulk_related_objects"))


def _check_constraints(rows: models.QuerySet[Any]) -> None:
    """Have constraints that wait for the commit checked now, where only the database knows of them."""
    tables = [
        field.related_model._meta.db_table
        for field in _relations(rows.model)
        if getattr(field, "on_delete", None) is models.DO_NOTHING
    ]
    if tables:
        connections[rows.db].check_constraints(table_names=tables)

"""What a command says of a database that does not do what it is asked: a sentence, no traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Model

from django_jobqueue.models import Job, JobAttempt, JobExecution
from django_jobqueue.vendors import vendor_for

NOT_MIGRATED = "The jobs' table is missing. Run 'manage.py migrate' first."

_TABLES: tuple[type[Model], ...] = (Job, JobAttempt, JobExecution)


def sentence(error: Exception) -> str:
    """What the driver says, on one line."""
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def errors_in_a_sentence() -> Iterator[None]:
    """Raise ``CommandError`` where the jobs' database is away, has no tables or refuses a statement."""
    alias = Job.objects.write_alias
    try:
        yield
    except (DatabaseError, InterfaceError) as error:
        raise CommandError(_why(alias, error)) from None


class DatabaseCommand(BaseCommand):
    """A command whose system checks may ask the database, as those of newer Djangos do on MySQL."""

    def check(self, *args: Any, **options: Any) -> None:
        with errors_in_a_sentence():
            super().check(*args, **options)


def _why(alias: str, error: Exception) -> str:
    try:
        existing = set(connections[alias].introspection.table_names())
    except (DatabaseError, InterfaceError) as away:
        refused = isinstance(away, DatabaseError) and vendor_for(connections[alias]).is_refusal(away)
        return f"The jobs' database {'cannot be used' if refused else 'does not answer'}: {sentence(away)}"
    if not {model._meta.db_table for model in _TABLES} <= existing:
        return NOT_MIGRATED
    return f"The jobs' database refused: {sentence(error)}"

"""-> a row under its key, by one statement that any number of callers may race for."""

from __future__ import annotations

from typing import Any

from django.db import connections, models
from django.db.models.constants import OnConflict
from django.db.models.sql import InsertQuery


def insert_if_absent(alias: str, row: models.Model) -> bool:
    """Insert ``row`` unless its primary key is taken; whether it was inserted. Breaks no transaction.

    Its values must be checked before: a database whose form of this is INSERT IGNORE forgives more than a
    taken key.
    """
    query: Any = InsertQuery(type(row), on_conflict=OnConflict.IGNORE)
    query.insert_values(row._meta.concrete_fields, [row])
    ((sql, params),) = query.get_compiler(using=alias).as_sql()
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, params)
        inserted: int = cursor.rowcount
    return inserted == 1

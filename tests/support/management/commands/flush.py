"""Django's ``flush`` between tests, without the work that most tests do not need."""

from __future__ import annotations

from typing import Any

from django.core.management.color import no_style
from django.core.management.commands.flush import Command as Flush
from django.db import connections

_MADE_BY_MIGRATE = {"django_content_type", "auth_permission"}


class Command(Flush):
    """Empty the tables that have rows, but for those that ``migrate`` fills: no test writes to them."""

    def handle(self, **options: Any) -> None:
        connection = connections[options["database"]]
        names = connection.introspection.django_table_names(only_existing=True, include_views=False)
        tables = sorted(set(names) - _MADE_BY_MIGRATE)
        quote = connection.ops.quote_name
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {', '.join(f'EXISTS (SELECT 1 FROM {quote(table)})' for table in tables)}"
            )
            filled = [table for table, found in zip(tables, cursor.fetchone(), strict=True) if found]
        if filled:
            connection.ops.execute_sql_flush(
                connection.ops.sql_flush(no_style(), filled, reset_sequences=False, allow_cascade=True)
            )

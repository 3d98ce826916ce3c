"""Models of a project that refer to the package's rows, for the time of one test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import connection, models


@contextmanager
def model(name: str, **fields: Any) -> Iterator[Any]:
    """A model of the project with these fields, and its table."""

    class Meta:
        app_label = "support"

    made: Any = type(name, (models.Model,), {"__module__": "tests.support.models", "Meta": Meta, **fields})
    try:
        with connection.schema_editor() as editor:
            editor.create_model(made)
        try:
            yield made
        finally:
            with connection.schema_editor() as editor:
                editor.delete_model(made)
    finally:
        del apps.all_models["support"][name.lower()]
        for field in made._meta.many_to_many:
            del apps.all_models["support"][field.remote_field.through._meta.model_name]
        apps.clear_cache()

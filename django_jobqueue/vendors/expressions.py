"""What the model and its queries need from a vendor, in Django's own forms."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models.expressions import Func
from django.db.models.sql.compiler import SQLCompiler


class Now(Func):
    """The database's clock in UTC, ``seconds`` ahead; the only clock that states are compared with."""

    output_field = models.DateTimeField()

    def __init__(self, seconds: float = 0) -> None:
        super().__init__()
        self.seconds = seconds

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *_: Any, **__: Any) -> Any:
        from django_jobqueue.vendors.registry import vendor_for

        vendor = vendor_for(connection)
        return (vendor.now_plus, [round(self.seconds, 3)]) if self.seconds else (vendor.now, [])


class ExactCharField(models.CharField):  # type: ignore[type-arg]
    """A text compared character by character on every database: case, accents and trailing spaces count."""

    def db_parameters(self, connection: BaseDatabaseWrapper) -> Any:
        from django_jobqueue.vendors.registry import is_supported, vendor_for

        parameters = super().db_parameters(connection)
        if is_supported(connection):
            parameters["collation"] = vendor_for(connection).exact_collation(connection)
        return parameters


class DeepJSONField(models.JSONField):
    """JSON as deep as a job's may be, also where the server's own check would refuse it."""

    def db_parameters(self, connection: BaseDatabaseWrapper) -> Any:
        from django_jobqueue.vendors.registry import is_supported, vendor_for

        parameters: Any = super().db_parameters(connection)
        if is_supported(connection):
            parameters.update(vendor_for(connection).json_parameters(connection))
        return parameters


class JSONText(Func):
    """A JSON text as the value of a JSON column, stored as it stands."""

    output_field = DeepJSONField()

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *_: Any, **__: Any) -> Any:
        from django_jobqueue.vendors.registry import vendor_for

        return vendor_for(connection).json, [self.text]


class StatusIndex(models.Index):
    """An index of the jobs in one status: partial where the database has those, else ``status`` in front."""

    def __init__(self, *, status: str, fields: list[str], name: str) -> None:
        super().__init__(fields=fields, name=name)
        self.status = status

    def deconstruct(self) -> Any:
        path, args, kwargs = super().deconstruct()
        return path, args, {**kwargs, "status": self.status}

    def create_sql(
        self,
        model: type[models.Model],
        schema_editor: BaseDatabaseSchemaEditor,
        using: str = "",
        **kwargs: Any,
    ) -> Any:
        if schema_editor.connection.features.supports_partial_indexes:
            index = models.Index(fields=self.fields, name=self.name, condition=models.Q(status=self.status))
        else:
            index = models.Index(fields=["status", *self.fields], name=self.name)
        return index.create_sql(model, schema_editor, using=using, **kwargs)

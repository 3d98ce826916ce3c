"""From the views to the document."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiViewExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.settings import spectacular_settings

import django_jobqueue
from django_jobqueue.api import answers, bodies
from django_jobqueue.api.schema import shapes
from django_jobqueue.api.schema.operations import operations

SETTINGS = {
    "TITLE": "django_jobqueue",
    "DESCRIPTION": "Producers and workers in any language speak JSON over HTTP with the queue.",
    "VERSION": django_jobqueue.__version__,
    "OAS_VERSION": "3.1.0",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
}


def document(**overrides: Any) -> dict[str, Any]:
    """The OpenAPI document of the protocol, mounted at the root. ``overrides`` are drf-spectacular's settings."""
    from django_jobqueue.api.urls import urlpatterns

    patched: Any = spectacular_settings
    patched.apply_patches({**SETTINGS, **overrides})
    try:
        generator: Any = SchemaGenerator(patterns=urlpatterns)  # type: ignore[no-untyped-call]
        schema: dict[str, Any] = generator.get_schema(request=None, public=True)
    finally:
        patched.clear_patches()
    return schema


class CallExtension(OpenApiViewExtension):  # type: ignore[no-untyped-call]
    """Describes the protocol's views, whatever schema class the project has."""

    target_class = "django_jobqueue.api.view.JobQueueView"
    match_subclasses = True

    def view_replacement(self) -> type[Any]:
        target: Any = self.target
        calls = operations()[target]
        schema: Any = type(
            "NamedSchema", (CallSchema,), {"names": {call.method: call.name for call in calls}}
        )
        described: type[Any] = type(target.__name__, (target,), {"schema": schema()})
        for call in calls:
            described = call.describe(described)
        return described


class CallSchema(AutoSchema):
    """A call's own schema. Makes sure of the components that shapes refer to by name."""

    names: ClassVar[dict[str, str]]

    def get_operation_id(self) -> str:
        return self.names[self.method]

    def _get_request_body(self, *args: Any, **kwargs: Any) -> Any:
        body: Any = super()._get_request_body(*args, **kwargs)  # type: ignore[no-untyped-call]
        if body and body["content"]["application/json"]["schema"].get("type") == "array":
            body["required"] = True
        return body

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        self.resolve_serializer(answers.JobAnswer, "response")
        self.resolve_serializer(bodies.CompletionBody, "request")
        return shapes.in_version(operation)


class BodyExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """A body has its fields and no others, and null means left out."""

    target_class = bodies.Body
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> shapes.Shape:
        mapper: Any = auto_schema
        schema: shapes.Shape = mapper._map_serializer(self.target, direction, bypass_extensions=True)
        for name, shape in schema.get("properties", {}).items():
            if name not in schema.get("required", ()):
                schema["properties"][name] = shapes.in_version(shapes.or_null(shape))
        return {**schema, "additionalProperties": False}

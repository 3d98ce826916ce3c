"""JSON Schemas of the protocol's values: as exact as the checks are."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.settings import spectacular_settings

from django_jobqueue.api import fields
from django_jobqueue.conf import settings
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.priority import HIGHEST, LOWEST, Priority

Shape = dict[str, Any]

_BLANK = r"\t-\r\u001c- \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_NO_NUL = r"^[^\u0000]*$"
_NOT_BLANK = rf"^[^\u0000]*[^{_BLANK}\u0000][^\u0000]*$"
_NOT_RESERVED = r"^([^_\u0000][^\u0000]*)?$"

TIME: Shape = {"type": "string", "format": "date-time"}

JSON_VALUE: Shape = {
    "description": f"Any JSON, up to {limits.MAX_DEPTH} levels deep; no NUL characters, integers of 64 bits.",
    "anyOf": [
        {"type": "null"},
        {"type": "boolean"},
        {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
        {"type": "number", "minimum": -1e15, "maximum": 1e15},
        {"type": "string", "pattern": _NO_NUL},
        {"type": "array", "items": {"$ref": "#/components/schemas/JSON"}},
        {
            "type": "object",
            "propertyNames": {"pattern": _NO_NUL},
            "additionalProperties": {"$ref": "#/components/schemas/JSON"},
        },
    ],
}


def text(length: int) -> Shape:
    """A text as ``limits.check_text`` takes it."""
    return {"type": "string", "minLength": 1, "maxLength": length, "pattern": _NOT_BLANK}


def priority(*, as_text: bool = False) -> Shape:
    """A label or an integer; ``as_text`` as a query has it."""
    labels = {"type": "string", "enum": [str(one.label) for one in Priority]}
    if as_text:
        return {"anyOf": [labels, {"type": "string", "pattern": "^-?(100|[0-9]{1,2})$"}]}
    return {"anyOf": [labels, {"type": "integer", "minimum": LOWEST, "maximum": HIGHEST}]}


def or_null(shape: Shape) -> Shape:
    """``shape``, or null."""
    if "$ref" in shape:
        return shape  # of any JSON, null included
    if "anyOf" in shape:
        return {**shape, "anyOf": [*shape["anyOf"], {"type": "null"}]}
    return {**shape, "type": [shape["type"], "null"]}


def in_version(value: Any) -> Any:
    """``value`` with its shapes as the project's version of OpenAPI has them: 3.0 knows no type null."""
    version: Any = spectacular_settings.OAS_VERSION
    return value if version.startswith("3.1") else _without_null(value)


def _without_null(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_null(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    plain = {name: _without_null(entry) for name, entry in value.items() if name != "propertyNames"}
    types, choices = plain.get("type"), plain.get("anyOf")
    if isinstance(types, list) and "null" in types:
        (plain["type"],) = (name for name in types if name != "null")
        plain["nullable"] = True
    if isinstance(choices, list) and {"type": "null"} in choices:
        plain["anyOf"] = [choice for choice in choices if choice != {"type": "null"}]
        plain["nullable"] = True
    return plain


def shape_of(field: Any) -> Shape:
    """What ``field.check`` takes."""
    if isinstance(field, fields.NamesField):
        return {"type": "array", "items": text(field.length), "minItems": 1, "maxItems": fields.MAX_NAMES}
    if isinstance(field, fields.TextField):
        return text(field.length)
    if isinstance(field, fields.IntegerField | fields.SecondsField):
        high = getattr(settings(), field.setting) if field.setting else field.high
        kind = "integer" if isinstance(field, fields.IntegerField) else "number"
        return {"type": kind, "minimum": field.low, "maximum": high}
    if isinstance(field, fields.ObjectField):
        names = _NOT_RESERVED if field.field_name == "meta" else _NO_NUL
        entries = {"$ref": "#/components/schemas/JSON"}
        return {"type": "object", "propertyNames": {"pattern": names}, "additionalProperties": entries}
    if isinstance(field, fields.AnyJSONField):
        return {"$ref": "#/components/schemas/JSON"}
    if isinstance(field, fields.PriorityField):
        return priority()
    if isinstance(field, fields.TimeField):
        return TIME
    return {"type": "boolean" if isinstance(field, fields.FlagField) else "string"}


class CheckedFieldExtension(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """Tells drf-spectacular the shapes of the protocol's fields."""

    target_class = fields.CheckedField
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> Shape:
        value = ResolvedComponent("JSON", ResolvedComponent.SCHEMA, in_version(JSON_VALUE), "JSON")  # type: ignore[no-untyped-call]
        auto_schema.registry.register_on_missing(value)
        return dict(in_version(shape_of(self.target)))

"""The fields of the protocol. Their rules are those of ``jobs.limits``; here they get their place in DRF."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from rest_framework import serializers

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.priority import parse_priority


class CheckedField(serializers.Field):  # type: ignore[type-arg]
    """A field whose value passes ``check``, which returns it or raises ``InvalidJob``."""

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def to_internal_value(self, data: Any) -> Any:
        try:
            return self.check(data)
        except InvalidJob as error:
            raise serializers.ValidationError(error.problem) from None

    def to_representation(self, value: Any) -> Any:
        return value


class TextField(CheckedField, serializers.CharField):
    """A text that is not blank, kept character by character."""

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, trim_whitespace=False, **kwargs)

    def check(self, value: Any) -> str:
        assert self.max_length is not None
        return limits.check_text(self.field_name or "", value, self.max_length)


class ReasonField(CheckedField, serializers.CharField):
    """A text that is never refused for what it holds: a failure must be recorded, so it is made to fit."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_blank=True, trim_whitespace=False, **kwargs)
        self.validators = []

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise InvalidJob("", f"must be a text, not {type(value).__name__}.")
        return value


class IntegerField(CheckedField, serializers.IntegerField):
    """An integer from ``min_value`` to ``max_value``; no text and no fraction stands for one."""

    def __init__(self, *, min_value: int, max_value: int, **kwargs: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **kwargs)
        self.range = min_value, max_value

    def check(self, value: Any) -> int:
        return limits.check_integer("", value, *self.range)


class SecondsField(CheckedField, serializers.FloatField):
    """A number of seconds from ``min_value`` to ``max_value``."""

    def __init__(self, *, min_value: float, max_value: float, **kwargs: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **kwargs)
        self.range = min_value, max_value

    def check(self, value: Any) -> float:
        return limits.check_seconds("", value, *self.range)


class FlagField(CheckedField, serializers.BooleanField):
    """``true`` or ``false`` and nothing that looks like it."""

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise InvalidJob("", "must be true or false.")
        return value


class PriorityField(CheckedField):
    """A label or an integer, as the integer."""

    def check(self, value: Any) -> int:
        return parse_priority(value)


class TimeField(CheckedField, serializers.DateTimeField):
    """A time in ISO 8601: read with any offset (without one in ``TIME_ZONE``), shown in UTC with a Z."""

    def check(self, value: Any) -> datetime:
        return parse_time("", value)

    def to_representation(self, value: Any) -> str | None:
        if value is None:
            return None
        text: str = value.astimezone(UTC).isoformat(timespec="microseconds")
        return text.replace("+00:00", "Z")


class AnyJSONField(CheckedField, serializers.JSONField):
    """Any JSON; the verb that stores it checks size, depth and characters."""

    def check(self, value: Any) -> Any:
        return value


def parse_time(field: str, value: Any) -> datetime:
    """A point in time from a text in ISO 8601; see ``limits.check_time``. Raises ``InvalidJob``."""
    if not isinstance(value, str):
        raise InvalidJob(field, f"must be a time as ISO 8601 text, not {type(value).__name__}.")
    try:
        parsed = parse_datetime(limits.check_text(field, value, 64))
    except ValueError:
        parsed = None
    if parsed is None:
        raise InvalidJob(field, "is not a time in ISO 8601, such as 2026-05-01T10:00:00Z.")
    return limits.check_time(field, parsed)

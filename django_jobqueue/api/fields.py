"""The fields of the protocol. Their rules are those of ``jobs.limits``; here they get their place in DRF.

A field's ``check`` needs no serializer around it, so that a call's body is read without building one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from rest_framework import serializers

from django_jobqueue.conf import settings
from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.priority import parse_priority

MAX_NAMES = 100
MAX_DELAY = 366 * 86400


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
        self.length = max_length

    def check(self, value: Any) -> str:
        return limits.check_text("", value, self.length)


class NamesField(CheckedField, serializers.ListField):
    """A list of 1 to ``MAX_NAMES`` texts."""

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        child = TextField(max_length=max_length)
        super().__init__(child=child, allow_empty=False, max_length=MAX_NAMES, **kwargs)
        self.length = max_length

    def check(self, value: Any) -> list[str]:
        if not isinstance(value, list):
            raise InvalidJob("", f"must be a list of texts, not {type(value).__name__}.")
        if not 1 <= len(value) <= MAX_NAMES:
            raise InvalidJob("", f"has {len(value)} entries; 1 to {MAX_NAMES} are allowed.")
        for index, name in enumerate(value):
            try:
                limits.check_text("", name, self.length)
            except InvalidJob as error:
                raise InvalidJob("", f"[{index}] {error.problem}") from None
        return value


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
    """An integer from ``min_value`` to ``max_value``, also written as 3.0; no text and no fraction stands for one.

    ``setting`` names an option of ``JOBQUEUE`` that may lower the maximum.
    """

    def __init__(self, *, min_value: int, max_value: int, setting: str = "", **kwargs: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **kwargs)
        self.low, self.high, self.setting = min_value, max_value, setting

    def check(self, value: Any) -> int:
        high = getattr(settings(), self.setting) if self.setting else self.high
        return limits.check_integer("", _whole(value), self.low, high)


class SecondsField(CheckedField, serializers.FloatField):
    """A number of seconds from ``min_value`` to ``max_value``; ``setting`` as in ``IntegerField``."""

    def __init__(self, *, min_value: float, max_value: float, setting: str = "", **kwargs: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **kwargs)
        self.low, self.high, self.setting = min_value, max_value, setting

    def check(self, value: Any) -> float:
        high = getattr(settings(), self.setting) if self.setting else self.high
        return limits.check_seconds("", value, self.low, high)


class FlagField(CheckedField, serializers.BooleanField):
    """``true`` or ``false`` and nothing that looks like it."""

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise InvalidJob("", "must be true or false.")
        return value


class PriorityField(CheckedField):
    """A label or an integer, as the integer."""

    def check(self, value: Any) -> int:
        return parse_priority(_whole(value))


class TimeField(CheckedField, serializers.DateTimeField):
    """A time in ISO 8601: read with any offset (without one in ``TIME_ZONE``), shown in UTC with a Z."""

    def check(self, value: Any) -> datetime:
        return parse_time("", value)

    def to_representation(self, value: Any) -> str | None:
        return show_time(value)


class ObjectField(CheckedField, serializers.DictField):
    """A JSON object; the verb that stores it checks size, depth and characters."""

    def check(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise InvalidJob("", f"must be an object, not {type(value).__name__}.")
        return value


class AnyJSONField(CheckedField, serializers.JSONField):
    """Any JSON; the verb that stores it checks size, depth and characters."""

    def check(self, value: Any) -> Any:
        return value


def _whole(value: Any) -> Any:
    """3.0 as 3: in JSON they are one number, and some languages write the first."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


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


def show_time(value: datetime | None) -> str | None:
    """A time as the protocol shows it: in UTC, with microseconds and a Z."""
    if value is None:
        return None
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

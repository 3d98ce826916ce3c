"""The filters of the job list. What is no value of its field is refused, never taken for "no filter"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any

import django_filters
from django import forms
from django.db.models import Q, QuerySet

from django_jobqueue.api.fields import parse_time
from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.priority import HIGHEST, LOWEST, Priority, parse_priority
from django_jobqueue.models import Job, Status

MAX_VALUES = 100

Check = Callable[[str], Any]


class CheckedField(forms.Field):
    """The values of a query parameter, each as ``check`` returns it. ``check`` raises ``InvalidJob``."""

    widget = forms.SelectMultiple

    def __init__(self, *, check: Check, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check = check

    def clean(self, value: Sequence[str]) -> list[Any]:
        if len(value) > MAX_VALUES:
            raise forms.ValidationError(f"has {len(value)} values; at most {MAX_VALUES} are allowed.")
        try:
            return [self.check(one) for one in value]
        except InvalidJob as error:
            # As a parameter: django-filter takes a percent sign in the message itself for a placeholder.
            raise forms.ValidationError("%(problem)s", params={"problem": error.problem}) from None


class AnyOf(django_filters.Filter):  # type: ignore[misc]
    """The jobs that match any of the values given; all when none is given."""

    field_class = CheckedField

    def filter(self, queryset: QuerySet[Job], values: list[Any]) -> QuerySet[Job]:
        if not values:
            return queryset
        lookup = f"{self.field_name}__{self.lookup_expr}"
        return queryset.filter(reduce(or_, (Q(**{lookup: value}) for value in values)))


def _text(length: int) -> AnyOf:
    return AnyOf(check=lambda value: limits.check_text("", value, length))


def _created(lookup: str) -> AnyOf:
    return AnyOf(field_name="created_at", lookup_expr=lookup, check=lambda value: parse_time("", value))


def _status(value: str) -> str:
    if value not in Status.values:
        raise InvalidJob("", f"{value[:50]!r} is not one of {', '.join(Status.values)}.")
    return value


def _priorities(value: str) -> tuple[int, int]:
    """The lowest and the highest priority that ``value`` means: a label means all that are shown with it."""
    if re.fullmatch("-?[0-9]{1,9}", value):
        return (number := parse_priority(int(value)), number)
    lowest = parse_priority(value)
    higher = min((priority.value for priority in Priority if priority > lowest), default=HIGHEST + 1)
    return LOWEST if lowest == Priority.LOW else lowest, higher - 1


class JobFilter(django_filters.FilterSet):  # type: ignore[misc]
    """Each may be repeated for any of several values; ``created_before`` is exclusive."""

    status = AnyOf(check=_status)
    type = _text(limits.TYPE_LENGTH)
    queue = _text(limits.QUEUE_LENGTH)
    priority = AnyOf(lookup_expr="range", check=_priorities)
    worker_id = _text(limits.WORKER_ID_LENGTH)
    idempotency_key = _text(limits.KEY_LENGTH)
    created_after = _created("gte")
    created_before = _created("lt")

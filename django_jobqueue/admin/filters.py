"""Filters of the job list. Their choices come from the code; none asks the table for its distinct values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from django_jobqueue import registry
from django_jobqueue.admin.html import datalist
from django_jobqueue.conf import settings
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.priority import Priority
from django_jobqueue.jobs.queryset import JobQuerySet
from django_jobqueue.jobs.status import Status


class StatusFilter(admin.SimpleListFilter):
    """The statuses, and the running jobs that are stale."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        choices = [(str(status), str(status)) for status in Status]
        choices.insert(choices.index(("running", "running")) + 1, ("stale", "stale"))
        return choices

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        value = _choice_of(self)
        if value is None:
            return queryset
        return cast(JobQuerySet, queryset).stale() if value == "stale" else queryset.filter(status=value)


class PriorityFilter(admin.SimpleListFilter):
    """The priority labels; a value between two labels counts to the lower one, below zero to ``low``."""

    title = "priority"
    parameter_name = "priority"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(priority.label), str(priority.label)) for priority in reversed(Priority)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        value = _choice_of(self)
        if value is None:
            return queryset
        ascending = list(Priority)
        index = [priority.label for priority in ascending].index(value)
        if index > 0:
            queryset = queryset.filter(priority__gte=ascending[index])
        if index + 1 < len(ascending):
            queryset = queryset.filter(priority__lt=ascending[index + 1])
        return queryset


class ExactFilter(admin.SimpleListFilter):
    """A text to type, compared exactly, with suggestions from the code instead of the table."""

    template = "admin/django_jobqueue/exact_filter.html"
    parameter_name: str

    def suggestions(self) -> Sequence[str]:
        """Values that the project itself names."""
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return []

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        value = self.value()
        if not value:
            return queryset
        return queryset.none() if "\0" in value else queryset.filter(**{self.parameter_name: value})

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """One choice, the form: its value, its suggestions, and the rest of the query string to keep."""
        kept = changelist.params.items()
        yield {
            "name": self.parameter_name,
            "value": self.value() or "",
            "datalist": datalist(f"jobqueue-{self.parameter_name}-values", self.suggestions()),
            "kept": [(name, value) for name, value in kept if name != self.parameter_name],
            "clear": changelist.get_query_string(remove=[self.parameter_name]),
        }


class QueueFilter(ExactFilter):
    title = "queue"
    parameter_name = "queue"

    def suggestions(self) -> Sequence[str]:
        return known_queues()


class TypeFilter(ExactFilter):
    title = "type"
    parameter_name = "type"

    def suggestions(self) -> Sequence[str]:
        return known_types()


FILTERS: tuple[type[admin.SimpleListFilter], ...] = (StatusFilter, PriorityFilter, QueueFilter, TypeFilter)


def known_types() -> list[str]:
    """The types that this project knows: those with a handler here, and ``EXTERNAL_JOB_TYPES``."""
    return sorted({*registry.types(), *settings().EXTERNAL_JOB_TYPES})


def known_queues() -> list[str]:
    """The queues that handlers name, and the default one."""
    handlers = map(registry.get, registry.types())
    return sorted({"default", *(handler.queue for handler in handlers if handler is not None)})


def _choice_of(given: admin.SimpleListFilter) -> str | None:
    value = given.value()
    if value is not None and value not in dict(given.lookup_choices):
        raise IncorrectLookupParameters
    return value

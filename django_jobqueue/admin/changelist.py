"""A job list whose cost does not grow with the table: a bounded count, no payloads, an indexed search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from django_jobqueue.jobs.limits import MAX_ID
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.queryset import JobQuerySet

if TYPE_CHECKING:
    _Paginator = Paginator[Job]
else:
    _Paginator = Paginator

COUNTED = 10_000
"""Rows are counted up to here; whoever looks for older ones filters or searches."""

_LAST = chr(0x10FFFF)


class BoundedPaginator(_Paginator):
    """Counts at most ``COUNTED`` rows; ``exceeded`` tells that there are more."""

    object_list: QuerySet[Job]

    @cached_property
    def found(self) -> int:
        """The number of rows, at most one more than ``COUNTED``."""
        return self.object_list.order_by().values("pk")[: COUNTED + 1].count()

    @cached_property
    def count(self) -> int:
        return min(self.found, COUNTED)

    @property
    def exceeded(self) -> bool:
        return self.found > COUNTED


class JobChangeList(ChangeList):
    """The list page of jobs."""

    def get_queryset(self, *args: Any, **kwargs: Any) -> JobQuerySet:
        return cast(JobQuerySet, super().get_queryset(*args, **kwargs)).without_payloads()

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.count_text = f"{self.result_count:,}{'+' if self.paginator.exceeded else ''}"


def search(term: str) -> Q:
    """Jobs whose idempotency key starts with ``term``, character by character, or whose id it is."""
    found = Q(idempotency_key__gte=term)
    if end := _after(term):
        found &= Q(idempotency_key__lt=end)
    number = term.removeprefix("#")
    if number.isascii() and number.isdecimal() and len(number) <= 19 and int(number) <= MAX_ID:
        found |= Q(pk=int(number))
    return found


def _after(prefix: str) -> str:
    """The smallest text that follows every text with this prefix; empty when there is none.

    A range is the one form of a prefix search that every database looks up in the index of a column that is
    compared by code points.
    """
    kept = prefix.rstrip(_LAST)
    if not kept:
        return ""
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if following == 0xD800 else following)

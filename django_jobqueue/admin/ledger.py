"""The ledger: executions to look at, and those in doubt to settle."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.utils import quote, unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from django_jobqueue.admin.changelist import BoundedPaginator, JobChangeList, search
from django_jobqueue.admin.filters import ExactFilter, known_types
from django_jobqueue.admin.html import absolute, badge, clipped, distance, duration, moment, two_lines
from django_jobqueue.admin.page import REDACTED, Entry
from django_jobqueue.exceptions import InvalidJob, NotInDoubt
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.sensitive import redact_json, redact_text, sensitive_names
from django_jobqueue.ledger.keys import job_of
from django_jobqueue.ledger.model import JobExecution
from django_jobqueue.vendors import Now

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[JobExecution]
else:
    _ModelAdmin = admin.ModelAdmin

LIMIT = 1000
"""Entries that one request settles; the rest are for the next request."""

IN_DOUBT = "in doubt"
NO_RESULT = "no result"

_BADGES = {
    "processing": "running",
    "completed": "completed",
    "failed": "failed",
    IN_DOUBT: "stale",
    NO_RESULT: "stale",
}

_EXPLANATIONS = {
    "processing": "A run is at it. Until its lease ends, whoever asks for this effect is told to come again later.",
    "completed": "It happened. Whoever asks for it again gets this result, and nothing runs.",
    "failed": "The last run failed, or somebody settled that it did not happen. The next one that asks runs it.",
    IN_DOUBT: (
        "A run was begun and its end was never recorded: nobody knows whether the effect happened. Find out, for "
        "example where it would show, and settle it here; then retry the job if it has failed."
    ),
    NO_RESULT: (
        "It happened and is not run again, but what it returned was not JSON. Whoever asks for it fails until you "
        "give it a result here."
    ),
}


def state_of(execution: JobExecution) -> str:
    """The status, and what it does not tell: ``in doubt`` and ``no result``."""
    lease = execution.lease_expires_at
    if execution.status == "processing" and lease is not None and lease <= db_now(execution):
        return IN_DOUBT
    return NO_RESULT if vars(execution)["without_result"] else execution.status


def db_now(execution: JobExecution) -> datetime:
    """The database's clock when ``execution`` was read."""
    now: datetime = vars(execution)["db_now"]
    return now


class StatusFilter(admin.SimpleListFilter):
    """The statuses, and what is in doubt."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in (IN_DOUBT, "processing", "failed", NO_RESULT, "completed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        if value not in dict(self.lookup_choices):
            raise IncorrectLookupParameters
        if value == IN_DOUBT:
            return queryset.filter(status="processing", lease_expires_at__lte=Now())
        if value == NO_RESULT:
            return queryset.filter(without_result=True)
        return queryset.filter(status=value)


class TypeFilter(ExactFilter):
    title = "type"
    parameter_name = "job_type"

    def suggestions(self) -> Sequence[str]:
        return known_types()


class ExecutionChangeList(JobChangeList):
    """The list page of executions."""

    def get_queryset(self, *args: Any, **kwargs: Any) -> Any:
        return ChangeList.get_queryset(self, *args, **kwargs).defer("result", "error")


@admin.register(JobExecution)
class ExecutionAdmin(_ModelAdmin):
    """Executions to look at. The only change is to settle one that is in doubt."""

    list_display = ("key", "state", "type_name", "attempts_made", "when_and_owner")
    list_display_links = ("key",)
    list_filter = (StatusFilter, TypeFilter)
    # What is in doubt comes first; the order is that of an index, to the last column.
    ordering = ("-status", "lease_expires_at", "-created_at", "idempotency_key")
    actions = ("confirm", "deny")
    search_fields = ("idempotency_key",)
    search_help_text = "The beginning of a key (upper and lower case differ)."
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator
    view_on_site = False
    fields = ()

    class Media:
        css = {"all": ["django_jobqueue/admin.css"]}

    # Permissions

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: JobExecution | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: JobExecution | None = None) -> bool:
        return False

    def has_confirm_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("django_jobqueue.confirm_jobexecution")

    def has_deny_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("django_jobqueue.deny_jobexecution")

    # Reading

    def get_queryset(self, request: HttpRequest) -> QuerySet[JobExecution]:
        without_result = ExpressionWrapper(Q(status="completed") & ~Q(error=""), output_field=BooleanField())
        entries = JobExecution.objects.using(JobExecution.objects.write_alias)
        return entries.annotate(db_now=Now(), without_result=without_result).order_by(*self.ordering)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ExecutionChangeList]:
        return ExecutionChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[JobExecution], bool]:
        term = search_term.strip()
        return (queryset.filter(search(term)) if term else queryset), False

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> JobExecution | None:
        return None if "\0" in object_id else super().get_object(request, object_id, from_field)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return lookup in {StatusFilter.parameter_name, TypeFilter.parameter_name}

    @admin.display(description="key")
    def key(self, execution: JobExecution) -> SafeString:
        return clipped(execution.pk)

    @admin.display(description="status")
    def state(self, execution: JobExecution) -> SafeString:
        state = state_of(execution)
        return badge(_BADGES[state], state)

    @admin.display(description="type")
    def type_name(self, execution: JobExecution) -> SafeString:
        return clipped(execution.job_type)

    @admin.display(description="attempts")
    def attempts_made(self, execution: JobExecution) -> int:
        return execution.attempts

    @admin.display(description="when, owner")
    def when_and_owner(self, execution: JobExecution) -> SafeString:
        return two_lines(_when(execution), clipped(execution.owner))

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: JobExecution | None = None,
    ) -> HttpResponse:
        if obj is not None:
            context.update(self._page(request, obj))
        return super().render_change_form(request, context, add, change, form_url, obj)

    def _page(self, request: HttpRequest, execution: JobExecution) -> dict[str, Any]:
        state = state_of(execution)
        redacted = not request.user.has_perm("django_jobqueue.view_job_payload")
        job = _job_of(execution)
        names = sensitive_names(execution.job_type)
        error = redact_text(execution.error, None if job is None else job.payload, names)
        result = redact_json(execution.result, names)
        return {
            "title": str(execution),
            "subtitle": None,
            "badge": self.state(execution),
            "explanation": _EXPLANATIONS[state],
            "may_confirm": state in (IN_DOUBT, NO_RESULT) and self.has_confirm_permission(request),
            "may_deny": state == IN_DOUBT and self.has_deny_permission(request),
            "facts": [
                Entry("type", execution.job_type or "-"),
                Entry("attempts", str(execution.attempts)),
                Entry("owner", execution.owner),
                *_times(execution),
            ],
            "job": job,
            "job_url": self._job_url(request, job),
            "error": REDACTED if redacted and error else error,
            "result": None
            if result is None
            else REDACTED
            if redacted
            else json.dumps(result, indent=2, ensure_ascii=False),
        }

    def _job_url(self, request: HttpRequest, job: Job | None) -> str:
        """The job's page, where the site has one that the user may see."""
        may_view = request.user.has_perm("django_jobqueue.view_job")
        if job is None or not may_view or not self.admin_site.is_registered(Job):
            return ""
        name = "admin:django_jobqueue_job_change"
        return reverse(name, args=[job.pk], current_app=self.admin_site.name)

    # Settling

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.settle_view)
        name = "django_jobqueue_jobexecution_settle"
        return [path("<path:object_id>/settle/", view, name=name), *super().get_urls()]

    @admin.action(permissions=["confirm"], description="It happened (without a result)")
    def confirm(self, request: HttpRequest, queryset: QuerySet[JobExecution]) -> None:
        self._settle_many(request, queryset, JobExecution.objects.confirm, "it happened")

    @admin.action(permissions=["deny"], description="It did not happen")
    def deny(self, request: HttpRequest, queryset: QuerySet[JobExecution]) -> None:
        self._settle_many(request, queryset, JobExecution.objects.deny, "it did not happen")

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        if any("\0" in value for value in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            self.message_user(request, "What was selected is not an execution.", messages.ERROR)
            return None
        return super().response_action(request, queryset, *args, **kwargs)

    def settle_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Settle one execution, from its page."""
        verdict, attempts = request.POST.get("verdict"), request.POST.get("attempts", "")
        if request.method != "POST" or verdict not in ("confirm", "deny") or not _is_number(attempts):
            return HttpResponseBadRequest("This address takes a verdict and the attempts seen, by POST.")
        allowed = self.has_confirm_permission if verdict == "confirm" else self.has_deny_permission
        if not self.has_view_permission(request) or not allowed(request):
            raise PermissionDenied
        execution = self.get_object(request, unquote(object_id))
        if execution is None:
            self.message_user(
                request, "There is no such execution; it may have been pruned.", messages.WARNING
            )
            return HttpResponseRedirect(self._url(request, "changelist"))
        typed = request.POST.get("result", "")
        if not self._settle_one(request, execution, verdict, int(attempts), typed.strip()):
            page = copy(request)  # the same page again, with what was typed
            page.method = "GET"
            return self.change_view(page, quote(execution.pk), extra_context={"typed": typed})
        return HttpResponseRedirect(self._url(request, "change", quote(execution.pk)))

    def _settle_one(
        self, request: HttpRequest, execution: JobExecution, verdict: str, attempts: int, text: str
    ) -> bool:
        """False when what was typed cannot be a result."""
        try:
            if verdict == "deny":
                said = "it did not happen"
                JobExecution.objects.deny(execution.pk, attempts=attempts)
            else:
                said = "it happened"
                result = json.loads(text) if text else None
                JobExecution.objects.confirm(execution.pk, attempts=attempts, result=result)
        except InvalidJob as error:
            self.message_user(request, f"Nothing was changed: {error}", messages.ERROR)
            return False
        except (ValueError, RecursionError):
            self.message_user(request, "Nothing was changed: the result is not JSON.", messages.ERROR)
            return False
        except NotInDoubt:
            self.message_user(request, "Nothing was changed: it is not in doubt any more.", messages.WARNING)
        else:
            self.log_change(request, execution, f"Settled: {said}.")
            self.message_user(request, f"Settled: {said}.", messages.SUCCESS)
        return True

    def _settle_many(
        self,
        request: HttpRequest,
        queryset: QuerySet[JobExecution],
        settle: Callable[..., None],
        said: str,
    ) -> None:
        settled = skipped = 0
        chosen = list(queryset[: LIMIT + 1])
        for execution in chosen[:LIMIT]:
            try:
                settle(execution.pk, attempts=execution.attempts)
            except NotInDoubt:
                skipped += 1
            else:
                settled += 1
                self.log_change(request, execution, f"Settled: {said}.")
        text = f"{settled:,} settled: {said}"
        if skipped:
            text += f", {skipped:,} skipped (not in doubt)"
        more = f" Only {LIMIT:,} were taken; run the action again for more." if len(chosen) > LIMIT else ""
        self.message_user(request, f"{text}.{more}", messages.WARNING if skipped else messages.SUCCESS)

    def _url(self, request: HttpRequest, view: str, *args: Any) -> str:
        name = f"admin:django_jobqueue_jobexecution_{view}"
        url = reverse(name, args=args, current_app=self.admin_site.name)
        kept: dict[str, Any] = {"preserved_filters": self.get_preserved_filters(request), "opts": self.opts}
        return add_preserved_filters(kept, url)


def _job_of(execution: JobExecution) -> Job | None:
    """The job that this is an effect of, if it is there and the key tells."""
    found = job_of(execution.pk)
    return Job.objects.using(Job.objects.write_alias).filter(**found).first() if found else None


def _when(execution: JobExecution) -> SafeString:
    now = db_now(execution)
    if execution.lease_expires_at is not None:
        if state_of(execution) == IN_DOUBT:
            since = execution.lease_expires_at
            return moment(f"in doubt for {duration(now - since)}", since)
        return moment(f"begun {distance(execution.created_at, now)}", execution.created_at)
    at = execution.completed_at or execution.created_at
    return moment(distance(at, now), at)


def _times(execution: JobExecution) -> list[Entry]:
    instants = {
        "first begun": execution.created_at,
        "lease ends": execution.lease_expires_at,
        "completed": execution.completed_at,
    }
    return [
        Entry(label, absolute(instant), distance(instant, db_now(execution)))
        for label, instant in instants.items()
        if instant is not None
    ]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10

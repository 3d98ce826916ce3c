"""The job list, a job's page, the actions on both, and the form that enqueues a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME, AdminErrorList, AdminForm
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.debug import sensitive_post_parameters

from django_jobqueue.admin import page
from django_jobqueue.admin.changelist import BoundedPaginator, JobChangeList, search
from django_jobqueue.admin.columns import ListColumns, db_now
from django_jobqueue.admin.explain import COUNTED, Surroundings, explain
from django_jobqueue.admin.filters import FILTERS
from django_jobqueue.admin.forms import EnqueueForm
from django_jobqueue.admin.handlers import has_handler
from django_jobqueue.admin.verbs import LIMIT, VERBS, Report, Verb, act
from django_jobqueue.jobs.limits import MAX_ID
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.outsiders import may_read
from django_jobqueue.jobs.status import Status, sources
from django_jobqueue.ledger.keys import key_prefix
from django_jobqueue.ledger.model import JobExecution
from django_jobqueue.vendors import Now

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Job]
else:
    _ModelAdmin = admin.ModelAdmin


@admin.register(Job)
class JobAdmin(ListColumns, _ModelAdmin):
    """Jobs to look at and to act on. Nothing here writes a whole row, and nothing deletes one."""

    list_display = (
        "id",
        "status_badge",
        "type_and_key",
        "queue_name",
        "priority_name",
        "retries",
        "when_and_worker",
    )
    list_display_links = ("id", "type_and_key")
    list_filter = FILTERS
    ordering = ("-id",)
    actions = ("retry", "run_now", "cancel", "release")
    search_fields = ("pk", "idempotency_key")
    search_help_text = "A job's id, or the beginning of an idempotency key (upper and lower case differ)."
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator
    add_form_template = "admin/django_jobqueue/job/enqueue.html"
    view_on_site = False
    fields = ()

    class Media:
        css = {"all": ["django_jobqueue/admin.css"]}

    # Permissions

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _may(request, "django_jobqueue.enqueue_job")

    def has_change_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        return _may(request, "django_jobqueue.view_job")

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return _may(request, *VERBS["retry"].permissions)

    def has_run_now_permission(self, request: HttpRequest) -> bool:
        return _may(request, *VERBS["run_now"].permissions)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return _may(request, *VERBS["cancel"].permissions)

    def has_release_permission(self, request: HttpRequest) -> bool:
        return _may(request, *VERBS["release"].permissions)

    # Reading

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return Job.objects.using(Job.objects.write_alias).annotate(db_now=Now()).order_by("-id")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[JobChangeList]:
        return JobChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Job], bool]:
        term = search_term.strip()
        return (queryset.filter(search(term)) if term else queryset), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        # Others would walk the table, or tell by their hits what a redacted field holds.
        return lookup in {list_filter.parameter_name for list_filter in FILTERS}

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"title": "Jobs", **(extra_context or {})})

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Job | None = None,
    ) -> HttpResponse:
        if obj is not None:
            context.update(self._page(request, obj))
        return super().render_change_form(request, context, add, change, form_url, obj)

    def _page(self, request: HttpRequest, job: Job) -> dict[str, Any]:
        redacted = not may_read(request.user, job)
        attempts = page.attempts(job, redacted=redacted)
        return {
            "title": str(job),
            "subtitle": None,
            "badge": self.status_badge(job),
            "explanation": explain(
                job,
                db_now(job),
                has_handler=has_handler(job),
                around=self._surroundings(job) if job.status == Status.PENDING else None,
            ),
            "verbs": [
                verb
                for verb in VERBS.values()
                if verb.applies_to(job.status) and _may(request, *verb.permissions)
            ],
            "facts": page.facts(job),
            "executions_url": self._executions_url(request, job),
            "error": page.error(job, redacted=redacted),
            "attempts": attempts[: page.ATTEMPTS],
            "more_attempts": len(attempts) > page.ATTEMPTS,
            "data": page.data(job, redacted=redacted),
            "times": page.times(job),
            "redaction": page.REDACTED if redacted else "",
        }

    def _executions_url(self, request: HttpRequest, job: Job) -> str:
        """The list of the job's effects, where the site has one that the user may see."""
        if not self.admin_site.is_registered(JobExecution):
            return ""
        if not _may(request, "django_jobqueue.view_jobexecution"):
            return ""
        name = "admin:django_jobqueue_jobexecution_changelist"
        prefix = urlencode({"q": key_prefix(job.pk, job.idempotency_key)})
        return f"{reverse(name, current_app=self.admin_site.name)}?{prefix}"

    def _surroundings(self, job: Job) -> Surroundings:
        queue = Job.objects.using(Job.objects.write_alias).filter(queue=job.queue).values("pk")
        before = Q(priority__gt=job.priority) | Q(priority=job.priority, pk__lt=job.pk)
        return Surroundings(
            ahead=queue.filter(before, status=Status.PENDING)[: COUNTED + 1].count(),
            running=queue.filter(status=Status.RUNNING)[: COUNTED + 1].count(),
        )

    # Acting

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.act_view)
        return [path("<int:job_id>/act/", view, name="django_jobqueue_job_act"), *super().get_urls()]

    @admin.action(permissions=["retry"], description="Retry the selected jobs")
    def retry(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._act_on_many(request, queryset, VERBS["retry"])

    @admin.action(permissions=["run_now"], description="Run the selected scheduled jobs now")
    def run_now(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._act_on_many(request, queryset, VERBS["run_now"])

    @admin.action(permissions=["cancel"], description="Cancel the selected jobs")
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._act_on_many(request, queryset, VERBS["cancel"])

    @admin.action(permissions=["release"], description="Release the selected running jobs")
    def release(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        self._act_on_many(request, queryset, VERBS["release"])

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if not all(value.isdecimal() and len(value) < 20 and int(value) <= MAX_ID for value in selected):
            self.message_user(request, "What was selected is not a job.", messages.ERROR)
            return None
        return super().response_action(request, queryset, *args, **kwargs)

    def act_view(self, request: HttpRequest, job_id: int) -> HttpResponse:
        """One verb on one job, from its page."""
        verb = VERBS.get(request.POST.get("verb", ""))
        token = request.POST.get("fencing_token", "")
        if request.method != "POST" or verb is None or not (token.isdecimal() and len(token) < 20):
            return HttpResponseBadRequest("This address takes a verb and a fencing token, by POST.")
        if not self.has_view_permission(request) or not _may(request, *verb.permissions):
            raise PermissionDenied
        job = self.get_object(request, str(job_id))
        if job is None:
            self.message_user(
                request, f"There is no job {job_id}; it may have been pruned.", messages.WARNING
            )
            return HttpResponseRedirect(self._url(request, "changelist"))
        # Only the claim that the page showed is released, not one that another worker took since.
        arguments = {"fencing_token": int(token)} if verb.name == "release" else {}
        report = act(verb, [(job.pk, job.updated_at)], changed=self._logger(request), **arguments)
        self._tell(request, report, report.about(job))
        return HttpResponseRedirect(self._url(request, "change", job.pk))

    def _act_on_many(self, request: HttpRequest, queryset: QuerySet[Job], verb: Verb) -> None:
        chosen = queryset.order_by("pk").values_list("pk", "updated_at")
        jobs = list(chosen[: LIMIT + 1])
        if len(jobs) > LIMIT:  # each request shall come further than the one before
            jobs = list(chosen.filter(status__in=sources(verb.name))[: LIMIT + 1])
        report = act(verb, jobs[:LIMIT], changed=self._logger(request))
        more = f" Only {LIMIT:,} jobs were taken; run the action again for more." if len(jobs) > LIMIT else ""
        self._tell(request, report, f"{report}.{more}")

    def _logger(self, request: HttpRequest) -> Any:
        return lambda job, done: self.log_change(request, job, done.capitalize() + ".")

    def _tell(self, request: HttpRequest, report: Report, text: str) -> None:
        level = messages.WARNING if report.skipped else messages.SUCCESS
        caution = f" {report.verb.caution}" if report.done and report.verb.caution else ""
        self.message_user(request, text + caution, level)

    def _url(self, request: HttpRequest, view: str, *args: Any) -> str:
        url = reverse(f"admin:django_jobqueue_job_{view}", args=args, current_app=self.admin_site.name)
        kept: dict[str, Any] = {"preserved_filters": self.get_preserved_filters(request), "opts": self.opts}
        return add_preserved_filters(kept, url)

    # Enqueueing

    @method_decorator(sensitive_post_parameters())
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form: Any = EnqueueForm(
            request.POST if request.method == "POST" else None,
            may_prioritize=_may(request, "django_jobqueue.prioritize_job"),
        )
        if form.is_valid():
            job = form.enqueue(request.user)
            if job is not None:
                return self._enqueued(request, job)
        fields = AdminForm(form, list(form.FIELDSETS), {}, model_admin=self)
        context = {
            **self.admin_site.each_context(request),
            "title": "Enqueue a job",
            "subtitle": None,
            "adminform": fields,
            "object_id": None,
            "original": None,
            "is_popup": False,
            "to_field": None,
            "media": self.media + fields.media,
            "inline_admin_formsets": [],
            "errors": AdminErrorList(form, []),
            "preserved_filters": self.get_preserved_filters(request),
            **(extra_context or {}),
        }
        return self.render_change_form(request, context, add=True, form_url=form_url)

    def _enqueued(self, request: HttpRequest, job: Job) -> HttpResponse:
        may_view = self.has_view_permission(request)
        url = self._url(request, "change", job.pk)
        if not job.replayed:
            self.log_addition(request, job, "Enqueued.")
            self.message_user(request, f"Job {job.pk} was enqueued.", messages.SUCCESS)
        else:
            different = f", with a different {job.mismatch}" if job.mismatch else ""
            text = format_html(
                'Nothing was enqueued: <a href="{}">job {}</a> has this key already{}.',
                url,
                job.pk,
                different,
            )
            self.message_user(request, text, messages.WARNING)
        return HttpResponseRedirect(url if may_view else self._url(request, "add"))


def _may(request: HttpRequest, *permissions: str) -> bool:
    """Whether the user has one of ``permissions``."""
    return any(request.user.has_perm(permission) for permission in permissions)

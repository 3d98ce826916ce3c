"""The calls of producers and operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from django.views.decorators.debug import sensitive_variables
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import status
from rest_framework.exceptions import ParseError, PermissionDenied
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings

from django_jobqueue.api import answers, bodies
from django_jobqueue.api.errors import KeyTaken
from django_jobqueue.api.filters import JobFilter
from django_jobqueue.api.names import refuse_unknown
from django_jobqueue.api.pagination import JobPagination
from django_jobqueue.api.permissions import (
    ManageJob,
    ViewJob,
    ViewOrEnqueueJob,
    full_name,
    has,
    may_read_payload,
    principal,
)
from django_jobqueue.api.view import JobQueueView, OneJobView
from django_jobqueue.exceptions import IdempotencyMismatch, InvalidJob, JobNotFound
from django_jobqueue.jobs.depth import check_depth
from django_jobqueue.jobs.outsiders import PRIVATE
from django_jobqueue.jobs.queryset import JobQuerySet
from django_jobqueue.models import Job, Priority, Status

_PARAMETERS = (*JobFilter.base_filters, "cursor", "page_size")


class _Negotiation(DefaultContentNegotiation):
    """A parameter of the list is what it is, also where ``URL_FORMAT_OVERRIDE`` has the same name."""

    def filter_renderers(self, renderers: Any, format: str) -> Any:
        if self.settings.URL_FORMAT_OVERRIDE in _PARAMETERS:
            return renderers
        return super().filter_renderers(renderers, format)


class JobList(JobQueueView):
    """POST adds a job. GET lists the jobs, the newest first."""

    permission_classes = [ViewOrEnqueueJob]
    filter_backends = [DjangoFilterBackend]
    content_negotiation_class = _Negotiation
    filterset_class = JobFilter
    pagination_class = JobPagination
    serializer_class = bodies.EnqueueBody
    throttle = "jobqueue-enqueue"

    def get(self, request: Request) -> Response:
        _check_query(request)
        jobs: Any = read_jobs()
        if not has(request, "view_job_payload"):
            jobs = jobs.defer(*PRIVATE)
        page = self.paginate_queryset(self.filter_queryset(jobs)) or []
        _load_private(page, request)
        return self.get_paginated_response([answers.show(job, request) for job in page])

    @sensitive_variables()
    def post(self, request: Request) -> Response:
        body = self.read_body()
        _read_key_header(request, body)
        if body.get("priority", 0) >= Priority.HIGH and not has(request, "prioritize_job"):
            raise PermissionDenied(
                f"Priority {Priority.HIGH.label} and above need the permission {full_name('prioritize_job')}."
            )
        check_depth(
            Job.objects,
            body["type"],
            queue=body.get("queue"),
            idempotency_key=body.get("idempotency_key"),
        )
        try:
            job = Job.objects.enqueue(**body, enqueued_by=principal(request))
        except IdempotencyMismatch as error:
            _check_key_owner(
                request, read_jobs().only("enqueued_by", "claimed_by").filter(pk=error.job_id).first()
            )
            raise
        if not job.replayed:
            location = request.build_absolute_uri(f"{request.path.rstrip('/')}/{job.pk}")
            return self.answer(job, status.HTTP_201_CREATED, headers={"Location": location})
        _check_key_owner(request, job)
        headers = {"Idempotent-Replayed": "true"}
        if job.mismatch:
            headers["Idempotency-Mismatch"] = job.mismatch
        return self.answer(job, headers=headers)


class JobDetail(OneJobView):
    """One job."""

    permission_classes = [ViewJob]

    def get(self, request: Request, id: str) -> Response:
        job = read_jobs().filter(pk=self.job_id).first()
        if job is None:
            raise JobNotFound(self.job_id)
        return self.answer(job)


class CancelJob(OneJobView):
    """scheduled | pending -> cancelled; asked of a running one (202)."""

    permission_classes = [ManageJob]
    serializer_class = bodies.EmptyBody

    def post(self, request: Request, id: str) -> Response:
        self.read_body()
        job = Job.objects.cancel(self.job_id)
        asked = job.status == Status.RUNNING
        return self.answer(job, status.HTTP_202_ACCEPTED if asked else status.HTTP_200_OK)


class RetryJob(OneJobView):
    """failed | cancelled -> pending."""

    permission_classes = [ManageJob]
    serializer_class = bodies.EmptyBody

    def post(self, request: Request, id: str) -> Response:
        self.read_body()
        return self.answer(Job.objects.retry(self.job_id))


def read_jobs() -> JobQuerySet:
    """The jobs as they are where they are written; a replica may lag behind."""
    return Job.objects.get_queryset().using(Job.objects.write_alias)


def _check_query(request: Request) -> None:
    """Raises ``ValidationError`` for parameters that the list does not have; ``ParseError`` for no UTF-8."""
    try:
        unquote_to_bytes(request.META.get("QUERY_STRING", "")).decode()
    except UnicodeDecodeError:
        raise ParseError("The query string is not UTF-8.") from None
    refuse_unknown(request.query_params, [*_PARAMETERS, api_settings.URL_FORMAT_OVERRIDE or "format"])


def _load_private(page: Sequence[Job], request: Request) -> None:
    """Load in one query what was deferred and may be read."""
    deferred = {job.pk: job for job in page if job.get_deferred_fields() and may_read_payload(request, job)}
    if deferred:
        for loaded in read_jobs().only(*PRIVATE).filter(pk__in=deferred):
            for name in PRIVATE:
                setattr(deferred[loaded.pk], name, getattr(loaded, name))


def _read_key_header(request: Request, body: dict[str, Any]) -> None:
    """Put the header ``Idempotency-Key`` into ``body``. Raises ``InvalidJob``."""
    header = request.headers.get("Idempotency-Key")
    if header is None:
        return
    try:
        key = header.encode("latin-1").decode()  # what the gateway did not know to be UTF-8
    except UnicodeError:
        raise InvalidJob("idempotency_key", "the header Idempotency-Key must be UTF-8.") from None
    if body.setdefault("idempotency_key", key) != key:
        raise InvalidJob("idempotency_key", "differs from the header Idempotency-Key; send one of them.")


def _check_key_owner(request: Request, job: Job | None) -> None:
    """Raises ``KeyTaken`` when a key led to a job that the caller may not see, or not whole.

    Else the answer would tell whether its payload is the one that was sent.
    """
    own = job is not None and job.enqueued_by == principal(request)
    if own or (job is not None and has(request, "view_job") and may_read_payload(request, job)):
        return
    raise KeyTaken

"""The calls of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from django_filters.rest_framework import DjangoFilterBackend
from rest_framework import status
from rest_framework.exceptions import ParseError, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings

from django_jobqueue.api import serializers
from django_jobqueue.api.errors import KeyTaken
from django_jobqueue.api.filters import JobFilter
from django_jobqueue.api.names import refuse_unknown
from django_jobqueue.api.pagination import JobPagination
from django_jobqueue.api.permissions import (
    ManageJob,
    ViewJob,
    ViewOrEnqueueJob,
    WorkJob,
    full_name,
    has,
    may_read_payload,
    principal,
)
from django_jobqueue.api.view import JobQueueView, OneJobView
from django_jobqueue.exceptions import IdempotencyMismatch, InvalidJob, JobNotFound
from django_jobqueue.jobs.queryset import JobQuerySet
from django_jobqueue.models import Job, Priority, Status


class JobList(JobQueueView):
    """POST adds a job. GET lists the jobs, the newest first."""

    permission_classes = [ViewOrEnqueueJob]
    filter_backends = [DjangoFilterBackend]
    filterset_class = JobFilter
    pagination_class = JobPagination

    def get_serializer_class(self) -> Any:
        return serializers.EnqueueSerializer if self.request.method == "POST" else serializers.JobSerializer

    def get(self, request: Request) -> Response:
        _check_query(request)
        jobs: Any = read_jobs()
        if not has(request, "view_job_payload"):
            jobs = jobs.defer(*serializers.PRIVATE)
        page = self.paginate_queryset(self.filter_queryset(jobs)) or []
        _load_private(page, request)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def post(self, request: Request) -> Response:
        body = self.read_body()
        _read_key_header(request, body)
        if body.get("priority", 0) >= Priority.HIGH and not has(request, "prioritize_job"):
            raise PermissionDenied(
                f"Priority {Priority.HIGH.label} and above need the permission {full_name('prioritize_job')}."
            )
        try:
            job = Job.objects.enqueue(**body, enqueued_by=principal(request))
        except IdempotencyMismatch as error:
            _check_key_owner(request, read_jobs().only("enqueued_by").filter(pk=error.job_id).first())
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


class ClaimJob(JobQueueView):
    """pending -> running: the next job for a worker."""

    permission_classes = [WorkJob]
    serializer_class = serializers.ClaimSerializer

    def post(self, request: Request) -> Response:
        job = Job.objects.claim(**self.read_body(), claimed_by=principal(request))
        if job is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return self.answer(job, serializer_class=serializers.ClaimedJobSerializer)


class HeartbeatJob(OneJobView):
    """running -> running: a longer lease."""

    permission_classes = [WorkJob]
    serializer_class = serializers.HeartbeatSerializer

    def post(self, request: Request, id: str) -> Response:
        job = Job.objects.heartbeat(self.job_id, **self.read_body(), claimed_by=principal(request))
        return self.answer(job, serializer_class=serializers.LeaseSerializer)


class CompleteJob(OneJobView):
    """running -> completed."""

    permission_classes = [WorkJob]
    serializer_class = serializers.CompleteSerializer

    def post(self, request: Request, id: str) -> Response:
        return self.answer(
            Job.objects.complete(self.job_id, **self.read_body(), claimed_by=principal(request))
        )


class FailJob(OneJobView):
    """running -> pending | scheduled | failed | cancelled."""

    permission_classes = [WorkJob]
    serializer_class = serializers.FailSerializer

    def post(self, request: Request, id: str) -> Response:
        return self.answer(Job.objects.fail(self.job_id, **self.read_body(), claimed_by=principal(request)))


class ReleaseJob(OneJobView):
    """running -> pending | scheduled | cancelled, no retry counted."""

    permission_classes = [WorkJob]
    serializer_class = serializers.ReleaseSerializer

    def post(self, request: Request, id: str) -> Response:
        body = self.read_body()
        delay = body.pop("retry_in", 0.0)
        return self.answer(
            Job.objects.release(self.job_id, **body, delay=delay, claimed_by=principal(request))
        )


class CancelJob(OneJobView):
    """scheduled | pending -> cancelled; asked of a running one (202)."""

    permission_classes = [ManageJob]
    serializer_class = serializers.EmptySerializer

    def post(self, request: Request, id: str) -> Response:
        self.read_body()
        job = Job.objects.cancel(self.job_id)
        asked = job.status == Status.RUNNING
        return self.answer(job, status.HTTP_202_ACCEPTED if asked else status.HTTP_200_OK)


class RetryJob(OneJobView):
    """failed | cancelled -> pending."""

    permission_classes = [ManageJob]
    serializer_class = serializers.EmptySerializer

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
    known = [*JobFilter.base_filters, "cursor", "page_size"]
    refuse_unknown(request.query_params, [*known, api_settings.URL_FORMAT_OVERRIDE or "format"])


def _load_private(page: Sequence[Job], request: Request) -> None:
    """Load in one query what was deferred and may be read."""
    deferred = {job.pk: job for job in page if job.get_deferred_fields() and may_read_payload(request, job)}
    if deferred:
        for loaded in read_jobs().only(*serializers.PRIVATE).filter(pk__in=deferred):
            for name in serializers.PRIVATE:
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
    """Raises ``KeyTaken`` when a key led to a job that the caller may not see."""
    own = job is not None and job.enqueued_by == principal(request)
    if not own and not has(request, "view_job"):
        raise KeyTaken

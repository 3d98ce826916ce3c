"""Every call of the protocol, described."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema

from django_jobqueue.api import answers, bodies, claims, jobs
from django_jobqueue.api.fields import MAX_NAMES
from django_jobqueue.api.pagination import JobPagination
from django_jobqueue.api.schema import examples, shapes
from django_jobqueue.api.schema.refusals import OF_A_BODY, refusals
from django_jobqueue.conf import settings
from django_jobqueue.jobs import limits
from django_jobqueue.models import Status


@dataclass(frozen=True, slots=True)
class Operation:
    """One call: its method, its name, and the decorator that describes it on its view."""

    method: str
    name: str
    describe: Callable[[Any], Any]


ID = OpenApiParameter(
    "id",
    {"type": "integer", "minimum": 1, "maximum": limits.MAX_ID},
    OpenApiParameter.PATH,
    description="The job's id.",
)
RETRY_AFTER = OpenApiParameter(
    "Retry-After",
    {"type": "integer", "minimum": 1},
    OpenApiParameter.HEADER,
    description="Seconds to wait before the next try.",
    response=["429", "503"],
)
_ASKED = {
    **examples.RUNNING,
    "payload": None,
    "error": None,
    "meta": None,
    "redacted": True,
    "cancel_requested_at": "2026-05-01T10:00:05.000000Z",
}
_HELD = ("not_running", "claim_lost", "not_owner")


def _filter(name: str, shape: shapes.Shape, description: str) -> OpenApiParameter:
    several = {"type": "array", "items": shape, "minItems": 1, "maxItems": MAX_NAMES}
    return OpenApiParameter(name, several, description=description, style="form", explode=True)


FILTERS = [
    _filter("status", {"type": "string", "enum": list(Status.values)}, "In any of these statuses."),
    _filter("type", shapes.text(limits.TYPE_LENGTH), "Of any of these types."),
    _filter("queue", shapes.text(limits.QUEUE_LENGTH), "In any of these queues."),
    _filter("priority", shapes.priority(as_text=True), "A label means all priorities shown with it."),
    _filter(
        "worker_id", shapes.text(limits.WORKER_ID_LENGTH), "Held, or last held, by any of these workers."
    ),
    _filter("idempotency_key", shapes.text(limits.KEY_LENGTH), "With any of these keys."),
    _filter("created_after", shapes.TIME, "Created at this time or later."),
    _filter("created_before", shapes.TIME, "Created before this time."),
    OpenApiParameter(
        "page_size",
        {"type": "integer", "minimum": 1, "maximum": JobPagination.max_page_size},
        description=f"Jobs on a page; default {JobPagination.page_size}.",
    ),
    OpenApiParameter(
        "cursor",
        {"type": "string", "format": "cursor"},
        description="Where the page starts: follow `next` and `previous` instead of making one.",
    ),
]

_PAGE = {
    "type": "object",
    "required": ["next", "previous", "results"],
    "properties": {
        "next": {"type": ["string", "null"], "format": "uri"},
        "previous": {"type": ["string", "null"], "format": "uri"},
        "results": {"type": "array", "items": {"$ref": "#/components/schemas/JobAnswer"}},
    },
}


def _completions() -> shapes.Shape:
    item = {"$ref": "#/components/schemas/CompletionBody"}
    return {"type": "array", "items": item, "minItems": 1, "maxItems": settings().API_MAX_COMPLETIONS}


def _ok(schema: Any, body: Any, description: str) -> OpenApiResponse:
    example = OpenApiExample("answer", value=body, response_only=True)
    return OpenApiResponse(schema, description, [example])


def _call(
    method: str,
    name: str,
    text: str,
    successes: dict[int, OpenApiResponse],
    *statuses: int,
    body: type[bodies.Body] | shapes.Shape | None = None,
    example: Any = None,
    conflicts: Sequence[str] = (),
    parameters: Sequence[OpenApiParameter] = (),
) -> Operation:
    """One call of a method: its summary is the first line of ``text``, an empty line, and then the rest."""
    summary, _, description = text.partition("\n\n")
    more = OF_A_BODY if body is not None else ()
    sent = [OpenApiExample("body", value=example, request_only=True)] if example is not None else []
    describe = extend_schema(
        methods=[method],
        summary=summary,
        description=description,
        tags=["jobs"],
        parameters=[*parameters, RETRY_AFTER],
        request={"application/json": body} if body is not None else None,
        responses={**successes, **refusals(*statuses, *more, conflicts=conflicts)},
        examples=sent,
        filters=False,
    )
    return Operation(method, name, describe)


def _location(status: int, name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, description=description, response=[str(status)]
    )


def operations() -> dict[type, list[Operation]]:
    """The description of every call, by view."""
    job = answers.JobAnswer
    return {
        jobs.JobList: [
            _call(
                "GET",
                "list_jobs",
                "List jobs, the newest first.\n\nNeeds `view_job`. Every job that was there at the start comes "
                "once, whatever is added, changed or removed meanwhile.",
                {200: _ok(_PAGE, examples.PAGE, "A page of jobs.")},
                parameters=FILTERS,
            ),
            _call(
                "POST",
                "enqueue_job",
                "Add a job.\n\nNeeds `enqueue_job`, and `prioritize_job` for priorities from `high` on. Safe to "
                "repeat with an `idempotency_key`, which the header `Idempotency-Key` may hold as well.",
                {
                    201: _ok(job, examples.JOB, "The new job."),
                    200: _ok(job, examples.JOB, "The job that has this key already; nothing was added."),
                },
                422,
                body=bodies.EnqueueBody,
                example={
                    "type": "resize-video",
                    "payload": {"width": 1280, "height": 720},
                    "idempotency_key": "video-7-720p",
                },
                conflicts=["key_taken"],
                parameters=[
                    _location(201, "Location", "Where the new job is."),
                    _location(200, "Idempotent-Replayed", "`true`"),
                    _location(
                        200, "Idempotency-Mismatch", "What differs from the job of this key, if anything."
                    ),
                ],
            ),
        ],
        jobs.JobDetail: [
            _call(
                "GET",
                "get_job",
                "Read one job.\n\nNeeds `view_job`.",
                {200: _ok(job, examples.JOB, "The job.")},
                404,
                parameters=[ID],
            )
        ],
        claims.ClaimJob: [
            _call(
                "POST",
                "claim_job",
                "Take the next job.\n\nNeeds `work_job`. The job is the caller's until its lease has run out. "
                "Safe to repeat with a `request_id`: while the lease lasts, the same claim is answered.",
                {
                    200: _ok(
                        answers.ClaimedJobAnswer, examples.CLAIMED, "The job, with its fence and lease."
                    ),
                    204: OpenApiResponse(None, "There is none."),
                },
                body=bodies.ClaimBody,
                example={"worker_id": "video-1", "types": ["resize-video"], "request_id": "video-1-0017"},
            )
        ],
        claims.ClaimJobs: [
            _call(
                "POST",
                "claim_jobs",
                "Take the next jobs, up to a limit.\n\nNeeds `work_job`. The list may be empty.",
                {200: _ok(answers.ClaimedJobsAnswer, {"jobs": [examples.CLAIMED]}, "The jobs, maybe none.")},
                body=bodies.ClaimBatchBody,
                example={"worker_id": "video-1", "limit": 10, "request_id": "video-1-0018"},
            )
        ],
        claims.CompleteJobs: [
            _call(
                "POST",
                "complete_jobs",
                "Report success of many claims.\n\nNeeds `work_job`. All items are checked first: a bad one "
                "refuses the whole batch. Then each gets an outcome of its own. Safe to repeat.",
                {
                    200: _ok(
                        answers.OutcomesAnswer,
                        {"outcomes": [{"id": 42, "outcome": "ok"}, {"id": 43, "outcome": "claim_lost"}]},
                        "An outcome per item, in their order.",
                    )
                },
                body=_completions(),
                example=[
                    {"id": 42, "fencing_token": 1, "result": {"pixels": 921600}},
                    {"id": 43, "fencing_token": 2},
                ],
            )
        ],
        claims.HeartbeatJob: [
            _call(
                "POST",
                "heartbeat_job",
                "Renew a lease.\n\nNeeds `work_job` and the claim. The answer tells whether to stop.",
                {200: _ok(answers.LeaseAnswer, examples.LEASE, "The new lease.")},
                404,
                body=bodies.HeartbeatBody,
                example={"fencing_token": 1, "progress": {"percent": 50}},
                conflicts=_HELD,
                parameters=[ID],
            )
        ],
        claims.CompleteJob: [
            _call(
                "POST",
                "complete_job",
                "Report success.\n\nNeeds `work_job` and the claim. Safe to repeat with the `fencing_token`.",
                {200: _ok(job, examples.COMPLETED, "The job, completed.")},
                404,
                body=bodies.CompleteBody,
                example={"fencing_token": 1, "result": {"pixels": 921600}},
                conflicts=_HELD,
                parameters=[ID],
            )
        ],
        claims.FailJob: [
            _call(
                "POST",
                "fail_job",
                "Report a failure.\n\nNeeds `work_job` and the claim. The job is retried while it has retries "
                "left. Safe to repeat with the `fencing_token`.",
                {200: _ok(job, examples.RETRIED, "The job: pending, scheduled, failed or cancelled.")},
                404,
                body=bodies.FailBody,
                example={"fencing_token": 1, "error": "ValueError: no such codec"},
                conflicts=_HELD,
                parameters=[ID],
            )
        ],
        claims.ReleaseJob: [
            _call(
                "POST",
                "release_job",
                "Give a claim back.\n\nNeeds `work_job` and the claim. No retry is counted.",
                {200: _ok(job, examples.JOB, "The job: pending, scheduled or cancelled.")},
                404,
                body=bodies.ReleaseBody,
                example={"fencing_token": 1, "retry_in": 30},
                conflicts=_HELD,
                parameters=[ID],
            )
        ],
        jobs.CancelJob: [
            _call(
                "POST",
                "cancel_job",
                "Cancel a job.\n\nNeeds `manage_job`.",
                {
                    200: _ok(job, examples.CANCELLED, "The job, cancelled."),
                    202: _ok(job, _ASKED, "A running job was asked to stop."),
                },
                404,
                body=bodies.EmptyBody,
                example={},
                conflicts=["wrong_status"],
                parameters=[ID],
            )
        ],
        jobs.RetryJob: [
            _call(
                "POST",
                "retry_job",
                "Run a failed or cancelled job once more.\n\nNeeds `manage_job`.",
                {200: _ok(job, examples.RETRIED, "The job, pending.")},
                404,
                body=bodies.EmptyBody,
                example={},
                conflicts=["wrong_status"],
                parameters=[ID],
            )
        ],
    }

"""What the protocol answers when it does not do what was asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework import serializers


class Refusal(serializers.Serializer[Any]):
    """Why, in words, and as a code where a caller may want to act on it."""

    detail = serializers.CharField()
    code = serializers.CharField(required=False)


FIELD_ERRORS: dict[str, Any] = {
    "type": "object",
    "description": "The problems of each field that is at fault; or ``detail`` for a body that cannot be read.",
    "additionalProperties": {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    },
}

_DESCRIPTIONS = {
    400: "Invalid: nothing was done.",
    401: "Not authenticated.",
    403: "Lacks a permission; `detail` names it.",
    404: "There is no such job.",
    406: "The caller does not accept JSON.",
    409: "The job is not in a state for this, or not the caller's; nothing was changed. See `code`.",
    411: "A chunked body without `Content-Length`.",
    413: "The body is too large.",
    415: "The body is not `application/json`.",
    422: "The key is taken by a job of another type or payload, and the project rejects that.",
    429: "Too many calls, or the queue is full. Come again after `Retry-After` seconds.",
    503: "The database is away or too busy. Come again after `Retry-After` seconds.",
}

_EXAMPLES: dict[int, dict[str, Any]] = {
    400: {"lease_seconds": ["must be from 1 to 86400 seconds."]},
    401: {"detail": "Authentication credentials were not provided."},
    403: {"detail": "This needs the permission django_jobqueue.work_job."},
    404: {"detail": "There is no job 42."},
    406: {"detail": "Could not satisfy the request Accept header."},
    411: {"detail": "Send the body with a Content-Length, not chunked."},
    413: {"detail": "The body is too large."},
    415: {"detail": 'Unsupported media type "text/plain" in request. Send application/json.'},
    422: {
        "detail": "idempotency_key: job 42 already has this key with a different payload. "
        "Use another key, or send the same type and payload again.",
        "code": "idempotency_mismatch",
    },
    429: {
        "detail": "queue: 1000 jobs or more wait in 'video'; no more are taken until some are done.",
        "code": "queue_full",
    },
    503: {"detail": "The database is away. Try again in 5 seconds.", "code": "unavailable"},
}

CONFLICTS = {
    "not_running": "Job 42 is completed; complete does not apply to it.",
    "claim_lost": "This claim on job 42 is no longer current; stop working on it, change nothing.",
    "not_owner": "Job 42 is claimed by another principal.",
    "wrong_status": "Job 42 is completed; cancel does not apply to it.",
    "key_taken": "idempotency_key: another caller's job has this key. Use another key.",
}

ALWAYS = (400, 401, 403, 406, 429, 503)
OF_A_BODY = (411, 413, 415)


def refusals(*statuses: int, conflicts: Iterable[str] = ()) -> dict[int, OpenApiResponse]:
    """The refusals of a call; ``conflicts`` are the codes of its 409."""
    codes = list(conflicts)
    found = {status: _response(status, codes) for status in (*ALWAYS, *statuses)}
    if codes:
        found[409] = _response(409, codes)
    return dict(sorted(found.items()))


def _response(status: int, codes: list[str]) -> OpenApiResponse:
    if status == 409:
        bodies = {code: {"detail": CONFLICTS[code], "code": code} for code in codes}
    else:
        bodies = {"refusal": _EXAMPLES[status]}
    examples = [
        OpenApiExample(name, value=body, response_only=True, status_codes=[str(status)])
        for name, body in bodies.items()
    ]
    schema = FIELD_ERRORS if status == 400 else Refusal
    return OpenApiResponse(schema, _DESCRIPTIONS[status], examples)

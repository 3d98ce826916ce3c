"""From what was raised to the protocol's refusals: a status, and a JSON body that says what to do."""

from __future__ import annotations

import logging
import math
import re
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import DatabaseError, InterfaceError, connections
from django.http import UnreadablePostError
from rest_framework import status
from rest_framework.exceptions import APIException, Throttled, UnsupportedMediaType
from rest_framework.response import Response
from rest_framework.views import exception_handler

from django_jobqueue.exceptions import (
    IdempotencyMismatch,
    InvalidJob,
    JobNotFound,
    KeysBusy,
    QueueFull,
    TransitionRefused,
)
from django_jobqueue.models import Job
from django_jobqueue.vendors import vendor_for

logger = logging.getLogger("django_jobqueue")

RETRY_AFTER = 5  # seconds
_FIELD = re.compile(r"(?:\[\d+\]\.)?[^.\[]*")  # of an item of a batch, with its place


class KeyTaken(APIException):
    """The idempotency key belongs to a job that the caller may not see."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "key_taken"
    default_detail = "idempotency_key: another caller's job has this key. Use another key."


class LengthRequired(APIException):
    """A body of unknown length: Django would read it as an empty one."""

    status_code = status.HTTP_411_LENGTH_REQUIRED
    default_code = "length_required"
    default_detail = "Send the body with a Content-Length, not chunked."


def respond(error: Exception, context: dict[str, Any]) -> Response | None:
    """The answer to ``error``; ``None`` for a defect, which is Django's to report."""
    if isinstance(error, InvalidJob):
        return Response(field_errors(error), status.HTTP_400_BAD_REQUEST)
    if isinstance(error, JobNotFound):
        return Response({"detail": str(error)}, status.HTTP_404_NOT_FOUND)
    if isinstance(error, TransitionRefused):
        return _coded(status.HTTP_409_CONFLICT, str(error), error.code)
    if isinstance(error, IdempotencyMismatch):
        return _coded(status.HTTP_422_UNPROCESSABLE_ENTITY, str(error), "idempotency_mismatch")
    if isinstance(error, KeyTaken):
        return _coded(error.status_code, str(error.detail), error.default_code)
    if isinstance(error, UnsupportedMediaType):
        return Response({"detail": f"{error.detail} Send application/json."}, error.status_code)
    if isinstance(error, RequestDataTooBig):
        return Response({"detail": "The body is too large."}, status.HTTP_413_REQUEST_ENTITY_TOO_LARGE)
    if isinstance(error, SuspiciousOperation | UnreadablePostError):
        return Response({"detail": "The request cannot be read."}, status.HTTP_400_BAD_REQUEST)
    if isinstance(error, QueueFull):
        return _later(status.HTTP_429_TOO_MANY_REQUESTS, str(error), "queue_full")
    if isinstance(error, Throttled):
        return _later(error.status_code, str(error.detail), "throttled", seconds=vars(error)["wait"])
    if isinstance(error, KeysBusy):
        return _later(status.HTTP_503_SERVICE_UNAVAILABLE, str(error), "keys_busy")
    if isinstance(error, DatabaseError | InterfaceError):
        connection = connections[Job.objects.write_alias]
        if vendor_for(connection).is_away(error):
            connection.close_at = (
                0.0  # with the request: the next one may find the server that is the primary now
            )
            return _unavailable(error, context)
    return exception_handler(error, context)


def field_errors(error: InvalidJob) -> dict[str, list[str]]:
    """``error`` as DRF gives field errors: under the body's field, with the path of what lies deeper."""
    field = _FIELD.match(error.field)[0]  # type: ignore[index]
    return {field: [error.problem if field == error.field else str(error)]}


def _coded(status_code: int, detail: str, code: str) -> Response:
    return Response({"detail": detail, "code": code}, status_code)


def _later(status_code: int, detail: str, code: str, *, seconds: float | None = None) -> Response:
    response = _coded(status_code, detail, code)
    response["Retry-After"] = str(max(1, math.ceil(RETRY_AFTER if seconds is None else seconds)))
    return response


def _unavailable(error: Exception, context: dict[str, Any]) -> Response:
    request = context["request"]
    logger.error("No database for %s %s: %s", request.method, request.path, error, exc_info=error)
    detail = f"The database is away. Try again in {RETRY_AFTER} seconds."
    return _later(status.HTTP_503_SERVICE_UNAVAILABLE, detail, "unavailable")

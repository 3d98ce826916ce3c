"""From what was raised to the protocol's refusals: a status, and a JSON body that says what to do."""

from __future__ import annotations

import logging
import re
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import UnreadablePostError
from rest_framework import status
from rest_framework.exceptions import APIException, UnsupportedMediaType
from rest_framework.response import Response
from rest_framework.views import exception_handler

from django_jobqueue.exceptions import IdempotencyMismatch, InvalidJob, JobNotFound, TransitionRefused

logger = logging.getLogger("django_jobqueue")

RETRY_AFTER = 5  # seconds


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
    if isinstance(error, OperationalError | InterfaceError):
        return _unavailable(error, context)
    return exception_handler(error, context)


def field_errors(error: InvalidJob) -> dict[str, list[str]]:
    """``error`` as DRF gives field errors: under the body's field, with the path of what lies deeper."""
    field = re.split(r"[.\[]", error.field, maxsplit=1)[0]
    return {field: [error.problem if field == error.field else str(error)]}


def _coded(status_code: int, detail: str, code: str) -> Response:
    return Response({"detail": detail, "code": code}, status_code)


def _unavailable(error: Exception, context: dict[str, Any]) -> Response:
    request = context["request"]
    logger.error("No database for %s %s: %s", request.method, request.path, error, exc_info=error)
    return Response(
        {"detail": f"The database is away. Try again in {RETRY_AFTER} seconds."},
        status.HTTP_503_SERVICE_UNAVAILABLE,
        headers={"Retry-After": str(RETRY_AFTER)},
    )

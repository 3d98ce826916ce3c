"""What callers send: the body of each call, as fields that are checked one by one."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.exceptions import ParseError, ValidationError

from django_jobqueue.api.fields import (
    MAX_DELAY,
    AnyJSONField,
    FlagField,
    IntegerField,
    NamesField,
    ObjectField,
    PriorityField,
    ReasonField,
    SecondsField,
    TextField,
    TimeField,
)
from django_jobqueue.api.names import MOST_NAMED, refuse_unknown
from django_jobqueue.conf import settings
from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits
from django_jobqueue.jobs.outsiders import open_types

LONGEST_LEASE = 7 * 86400
MOST_CLAIMS = 1000
MOST_COMPLETIONS = 5000
LONGEST_WAIT = 20


class Body(serializers.Serializer):  # type: ignore[type-arg]
    """A request's body: an object with these fields and no others; null means left out.

    To DRF it is a serializer, for ``OPTIONS`` and the schema. ``read`` uses the fields alone.
    """

    _declared_fields: dict[str, Any]

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """The fields that ``data`` has. Raises ``ValidationError`` naming all that are at fault."""
        fields = cls._declared_fields
        if not isinstance(data, Mapping):
            raise ParseError(f"The body must be a JSON object, not {_kind(data)}.")
        refuse_unknown(data, fields)
        values, problems = {}, {}
        for name, field in fields.items():
            value = data.get(name)
            if value is None:
                if field.required:
                    problems[name] = ["This field is required."]
                continue
            try:
                values[name] = field.check(value)
            except InvalidJob as error:
                problems[name] = [error.problem]
        if problems:
            raise ValidationError(problems)
        return values


class EnqueueBody(Body):
    """A new job. What is left out comes from the handler of its type, or from the settings."""

    type = TextField(max_length=limits.TYPE_LENGTH)
    payload = ObjectField(required=False)
    queue = TextField(max_length=limits.QUEUE_LENGTH, required=False)
    priority = PriorityField(required=False)
    max_retries = IntegerField(
        min_value=0, max_value=limits.MAX_RETRIES, setting="API_MAX_RETRIES", required=False
    )
    idempotency_key = TextField(max_length=limits.KEY_LENGTH, required=False)
    run_at = TimeField(required=False)
    meta = ObjectField(required=False)

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Raises ``ValidationError`` also for a type that no handler has and no setting lists."""
        values = super().read(data)
        _check_type(values["type"])
        days = settings().API_MAX_RUN_AT_DAYS
        run_at = values.get("run_at")
        if run_at is not None and days is not None and run_at > timezone.now() + timedelta(days=days):
            raise ValidationError({"run_at": [f"is more than {days} days ahead."]})
        return values


def _check_type(type: str) -> None:
    known = open_types()
    if type in known:
        return
    close = difflib.get_close_matches(type, known, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else "Register a handler or list it in EXTERNAL_JOB_TYPES."
    raise ValidationError({"type": [f"{type!r} is not a job type of this project. {hint}"]})


class ClaimBody(Body):
    """What a worker asks for."""

    worker_id = TextField(max_length=limits.WORKER_ID_LENGTH)
    queues = NamesField(max_length=limits.QUEUE_LENGTH, required=False)
    types = NamesField(max_length=limits.TYPE_LENGTH, required=False)
    lease_seconds = SecondsField(
        min_value=1, max_value=LONGEST_LEASE, setting="MAX_LEASE_SECONDS", required=False
    )
    request_id = TextField(max_length=limits.REQUEST_ID_LENGTH, required=False)
    wait_seconds = SecondsField(min_value=0, max_value=LONGEST_WAIT, required=False)

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        return {"lease_seconds": settings().API_LEASE_SECONDS, **super().read(data)}


class ClaimBatchBody(ClaimBody):
    """What a worker asks for, and how many."""

    limit = IntegerField(min_value=1, max_value=MOST_CLAIMS, setting="API_MAX_CLAIMS")


class AcknowledgementBody(Body):
    """What every acknowledgement of a claim may have."""

    fencing_token = IntegerField(min_value=0, max_value=limits.MAX_ID, required=False)

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """Raises ``ValidationError`` also for a missing token where the project asks for it."""
        values = super().read(data)
        if settings().REQUIRE_FENCING_TOKEN and "fencing_token" not in values:
            problem = "This field is required: send the one that the claim was answered with."
            raise ValidationError({"fencing_token": [problem]})
        return values


class HeartbeatBody(AcknowledgementBody):
    """A longer lease, from now."""

    lease_seconds = SecondsField(
        min_value=1, max_value=LONGEST_LEASE, setting="MAX_LEASE_SECONDS", required=False
    )
    progress = AnyJSONField(required=False)

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        return {"lease_seconds": settings().API_LEASE_SECONDS, **super().read(data)}


class CompleteBody(AcknowledgementBody):
    """Success."""

    result = AnyJSONField(required=False)


class FailBody(AcknowledgementBody):
    """A failure, with its reason."""

    error = ReasonField()
    retryable = FlagField(required=False)
    retry_in = SecondsField(min_value=0, max_value=MAX_DELAY, required=False)


class ReleaseBody(AcknowledgementBody):
    """A claim that is given back."""

    retry_in = SecondsField(min_value=0, max_value=MAX_DELAY, required=False)


class CompletionBody(Body):
    """One item of a batch; its token is required."""

    id = IntegerField(min_value=1, max_value=limits.MAX_ID)
    fencing_token = IntegerField(min_value=0, max_value=limits.MAX_ID)
    result = AnyJSONField(required=False)

    @classmethod
    def read_all(cls, data: Any) -> list[dict[str, Any]]:
        """The items of ``data``. Raises ``ValidationError`` naming the first that are at fault, by their place."""
        if not isinstance(data, list):
            raise ParseError(f"The body must be a JSON list of completions, not {_kind(data)}.")
        most = settings().API_MAX_COMPLETIONS
        if not 1 <= len(data) <= most:
            raise ParseError(f"The body has {len(data)} completions; 1 to {most} are allowed.")
        items: list[dict[str, Any]] = []
        problems: dict[str, Any] = {}
        for index, entry in enumerate(data):
            if len(problems) >= MOST_NAMED:
                break
            try:
                item = cls.read(entry)
            except ParseError as error:
                problems[f"[{index}]"] = [str(error.detail).replace("The body", "This item")]
                continue
            except ValidationError as error:
                named: Any = error.detail
                problems.update({f"[{index}].{name}": problem for name, problem in named.items()})
                continue
            items.append(item)
        if problems:
            raise ValidationError(problems)
        return items


class EmptyBody(Body):
    """No fields: an empty body or ``{}``."""


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__

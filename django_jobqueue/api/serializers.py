"""The bodies of the protocol, one serializer each."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from django.db import models
from rest_framework import serializers

from django_jobqueue import registry
from django_jobqueue.api.fields import (
    AnyJSONField,
    FlagField,
    IntegerField,
    PriorityField,
    ReasonField,
    SecondsField,
    TextField,
    TimeField,
)
from django_jobqueue.api.names import refuse_unknown
from django_jobqueue.api.permissions import may_read_payload
from django_jobqueue.conf import settings
from django_jobqueue.jobs import limits
from django_jobqueue.models import Job

MAX_NAMES = 100
MAX_DELAY = 366 * 86400
LONGEST_LEASE = 7 * 86400
PRIVATE = ("payload", "result", "error")


class BodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A request's body: an object with these fields and no others; null means left out."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            refuse_unknown(data, self.fields)
            data = {name: value for name, value in data.items() if value is not None}
        return super().to_internal_value(data)


class EnqueueSerializer(BodySerializer):
    type = TextField(max_length=limits.TYPE_LENGTH)
    payload = AnyJSONField(required=False)
    queue = TextField(max_length=limits.QUEUE_LENGTH, required=False)
    priority = PriorityField(required=False)
    max_retries = IntegerField(min_value=0, max_value=limits.MAX_RETRIES, required=False)
    idempotency_key = TextField(max_length=limits.KEY_LENGTH, required=False)
    run_at = TimeField(required=False)
    meta = AnyJSONField(required=False)

    def validate_type(self, type: str) -> str:
        known = {*registry.types(), *settings().EXTERNAL_JOB_TYPES}
        if type in known:
            return type
        close = difflib.get_close_matches(type, known, n=1)
        hint = (
            f"Did you mean {close[0]!r}?" if close else "Register a handler or list it in EXTERNAL_JOB_TYPES."
        )
        raise serializers.ValidationError(f"{type!r} is not a job type of this project. {hint}")


class LeaseSecondsField(SecondsField):
    """The lease that a caller asks for, from 1 second to ``MAX_LEASE_SECONDS``."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=1, max_value=LONGEST_LEASE, **kwargs)

    def check(self, value: Any) -> float:
        return limits.check_seconds("", value, 1, settings().MAX_LEASE_SECONDS)


class ClaimSerializer(BodySerializer):
    worker_id = TextField(max_length=limits.WORKER_ID_LENGTH)
    queues = serializers.ListField(
        child=TextField(max_length=limits.QUEUE_LENGTH),
        allow_empty=False,
        max_length=MAX_NAMES,
        required=False,
    )
    types = serializers.ListField(
        child=TextField(max_length=limits.TYPE_LENGTH),
        allow_empty=False,
        max_length=MAX_NAMES,
        required=False,
    )
    lease_seconds = LeaseSecondsField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {"lease_seconds": settings().API_LEASE_SECONDS, **attrs}


class AcknowledgementSerializer(BodySerializer):
    fencing_token = IntegerField(min_value=0, max_value=limits.MAX_ID, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if settings().REQUIRE_FENCING_TOKEN and "fencing_token" not in attrs:
            raise serializers.ValidationError(
                {"fencing_token": ["This field is required: send the one that the claim was answered with."]}
            )
        return attrs


class HeartbeatSerializer(AcknowledgementSerializer):
    lease_seconds = LeaseSecondsField(required=False)
    progress = AnyJSONField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {"lease_seconds": settings().API_LEASE_SECONDS, **super().validate(attrs)}


class CompleteSerializer(AcknowledgementSerializer):
    result = AnyJSONField(required=False)


class FailSerializer(AcknowledgementSerializer):
    error = ReasonField()
    retryable = FlagField(required=False)
    retry_in = SecondsField(min_value=0, max_value=MAX_DELAY, required=False)


class ReleaseSerializer(AcknowledgementSerializer):
    retry_in = SecondsField(min_value=0, max_value=MAX_DELAY, required=False)


class EmptySerializer(BodySerializer):
    """No fields: an empty body or ``{}``."""


class PrivateField(serializers.JSONField):
    """A value that is null for those who may not read it; it is then not even loaded."""

    parent: JobSerializer

    def get_attribute(self, instance: Job) -> Any:
        return None if self.parent.is_redacted(instance) else super().get_attribute(instance)


class JobSerializer(serializers.ModelSerializer[Job]):
    """A job as everyone sees it who may see it: without its fence and its lease."""

    serializer_field_mapping = {
        **serializers.ModelSerializer.serializer_field_mapping,
        models.DateTimeField: TimeField,
    }

    payload = PrivateField()
    priority = serializers.CharField(source="priority_label")
    priority_value = serializers.IntegerField(source="priority")
    error = PrivateField()
    result = PrivateField()
    redacted = serializers.SerializerMethodField(method_name="is_redacted")

    class Meta:
        model = Job
        fields: tuple[str, ...] = (
            "id",
            "type",
            "payload",
            "queue",
            "priority",
            "priority_value",
            "status",
            "run_at",
            "retry_count",
            "max_retries",
            "idempotency_key",
            "enqueued_by",
            "worker_id",
            "claimed_by",
            "claimed_at",
            "cancel_requested_at",
            "progress",
            "error",
            "result",
            "redacted",
            "meta",
            "created_at",
            "updated_at",
            "finished_at",
        )
        read_only_fields = fields

    def is_redacted(self, job: Job) -> bool:
        """Whether payload, result and error are withheld from the caller."""
        return not may_read_payload(self.context["request"], job)


class LeaseSerializer(serializers.ModelSerializer[Job]):
    """What the holder of a claim learns from a heartbeat."""

    lease_expires_at = TimeField(read_only=True)
    lease_expires_in = serializers.SerializerMethodField()
    cancel_requested = serializers.SerializerMethodField()

    class Meta:
        model = Job
        fields: tuple[str, ...] = ("lease_expires_at", "lease_expires_in", "cancel_requested")

    def get_lease_expires_in(self, job: Job) -> float:
        return seconds_left(job)

    def get_cancel_requested(self, job: Job) -> bool:
        return job.cancel_requested_at is not None


class ClaimedJobSerializer(JobSerializer):
    """A job as its claimer gets it."""

    lease_expires_in = serializers.SerializerMethodField()

    class Meta(JobSerializer.Meta):
        fields = (*JobSerializer.Meta.fields, "fencing_token", "lease_expires_at", "lease_expires_in")
        read_only_fields = fields

    def get_lease_expires_in(self, job: Job) -> float:
        return seconds_left(job)


def seconds_left(job: Job) -> float:
    """The lease of a job just claimed or renewed, by the database's clock."""
    assert job.lease_expires_at is not None
    return (job.lease_expires_at - job.updated_at).total_seconds()

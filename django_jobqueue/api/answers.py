"""What callers get: a job as they may see it.

To DRF and to the schema these are serializers. Each shows a job by itself, without DRF's walk over the fields.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from rest_framework import serializers
from rest_framework.request import Request

from django_jobqueue.api.fields import TimeField, show_time
from django_jobqueue.api.permissions import may_read_payload
from django_jobqueue.jobs.outsiders import PRIVATE
from django_jobqueue.jobs.sensitive import redact_json, redact_text, sensitive_names
from django_jobqueue.models import Job, Priority, Status


class JobAnswer(serializers.ModelSerializer[Job]):
    """A job as everyone sees it who may see it: without its fence, its lease, and what its type keeps back."""

    serializer_field_mapping = {
        **serializers.ModelSerializer.serializer_field_mapping,
        models.DateTimeField: TimeField,
    }

    payload = serializers.DictField(allow_null=True)
    priority = serializers.ChoiceField([priority.label for priority in Priority])
    priority_value = serializers.IntegerField(source="priority")
    status = serializers.ChoiceField(Status.values)
    error = serializers.CharField(allow_null=True)
    result = serializers.JSONField()
    progress = serializers.JSONField()
    meta = serializers.DictField(allow_null=True)
    redacted = serializers.BooleanField()

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

    def to_representation(self, instance: Job) -> dict[str, Any]:
        return show(instance, self.context["request"])


class ClaimedJobAnswer(JobAnswer):
    """A job as its claimer gets it: whole, with its fence and its lease."""

    lease_expires_at = TimeField()
    lease_expires_in = serializers.FloatField()

    class Meta(JobAnswer.Meta):
        fields = (*JobAnswer.Meta.fields, "fencing_token", "lease_expires_at", "lease_expires_in")
        read_only_fields = fields

    def to_representation(self, instance: Job) -> dict[str, Any]:
        return show_claimed(instance, self.context["request"])


class LeaseAnswer(serializers.ModelSerializer[Job]):
    """What the holder of a claim learns from a heartbeat."""

    lease_expires_at = TimeField()
    lease_expires_in = serializers.FloatField()
    cancel_requested = serializers.BooleanField()

    class Meta:
        model = Job
        fields: tuple[str, ...] = ("lease_expires_at", "lease_expires_in", "cancel_requested")
        read_only_fields = fields

    def to_representation(self, instance: Job) -> dict[str, Any]:
        return show_lease(instance)


class ClaimedJobsAnswer(serializers.Serializer[Any]):
    """The jobs of a batch claim; the list may be empty."""

    jobs = ClaimedJobAnswer(many=True)


class OutcomeAnswer(serializers.Serializer[Any]):
    """What became of one item of a batch."""

    id = serializers.IntegerField()
    outcome = serializers.ChoiceField(["ok", "already", "claim_lost", "not_found"])


class OutcomesAnswer(serializers.Serializer[Any]):
    """An outcome per item, in the order of the items."""

    outcomes = OutcomeAnswer(many=True)


def show(job: Job, request: Request, *, to_holder: bool = False) -> dict[str, Any]:
    """``job`` as this caller may see it; what may not be read is not even loaded."""
    redacted = not may_read_payload(request, job)
    names = () if to_holder else sensitive_names(job.type)
    private = (
        dict.fromkeys(PRIVATE)
        if redacted
        else {
            "payload": redact_json(job.payload, names),
            "result": redact_json(job.result, names),
            "error": redact_text(job.error, job.payload, names) if names else job.error,
            "progress": redact_json(job.progress, names),
            "meta": redact_json(job.meta, names),
        }
    )
    return {
        "id": job.pk,
        "type": job.type,
        "payload": private["payload"],
        "queue": job.queue,
        "priority": job.priority_label,
        "priority_value": job.priority,
        "status": job.status,
        "run_at": show_time(job.run_at),
        "retry_count": job.retry_count,
        "max_retries": job.max_retries,
        "idempotency_key": job.idempotency_key,
        "enqueued_by": job.enqueued_by,
        "worker_id": job.worker_id,
        "claimed_by": job.claimed_by,
        "claimed_at": show_time(job.claimed_at),
        "cancel_requested_at": show_time(job.cancel_requested_at),
        "progress": private["progress"],
        "error": private["error"],
        "result": private["result"],
        "redacted": redacted,
        "meta": private["meta"],
        "created_at": show_time(job.created_at),
        "updated_at": show_time(job.updated_at),
        "finished_at": show_time(job.finished_at),
    }


def show_claimed(job: Job, request: Request) -> dict[str, Any]:
    """``job`` as the caller that holds its claim gets it."""
    return {
        **show(job, request, to_holder=True),
        "fencing_token": job.fencing_token,
        "lease_expires_at": show_time(job.lease_expires_at),
        "lease_expires_in": seconds_left(job),
    }


def show_lease(job: Job) -> dict[str, Any]:
    """What a heartbeat answers."""
    return {
        "lease_expires_at": show_time(job.lease_expires_at),
        "lease_expires_in": seconds_left(job),
        "cancel_requested": job.cancel_requested_at is not None,
    }


def seconds_left(job: Job) -> float:
    """The rest of a job's lease by the database's clock: since it was read, or just claimed or renewed."""
    assert job.lease_expires_at is not None
    return (job.lease_expires_at - (job.read_at or job.updated_at)).total_seconds()

"""The rows of the ledger and of the locks."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from django_jobqueue.jobs import limits
from django_jobqueue.ledger.manager import ExecutionManager
from django_jobqueue.vendors import DeepJSONField, ExactCharField


class JobExecution(models.Model):
    """One effect that happens once, under its key. Written by ``once`` and by two verbs of an operator.

    A ``processing`` entry whose lease has run out is in doubt: its runner is gone, and nobody knows whether
    the effect happened. A ``completed`` entry with an ``error`` has no result: what came out was not JSON.
    """

    class Status(models.TextChoices):
        PROCESSING = "processing"
        COMPLETED = "completed"
        FAILED = "failed"

    idempotency_key = ExactCharField(max_length=limits.KEY_LENGTH, primary_key=True)
    job_type = ExactCharField(
        max_length=limits.TYPE_LENGTH, blank=True, default="", help_text="Empty outside of a handler."
    )
    status = ExactCharField(max_length=10, choices=Status.choices)
    result = DeepJSONField(null=True, blank=True)
    error = models.TextField(blank=True, default="", help_text="The latest reason of failure.")
    attempts = models.PositiveIntegerField(
        default=1, help_text="Runs begun; rises by one at every take-over, and so is the fence."
    )
    owner = ExactCharField(max_length=limits.WORKER_ID_LENGTH, help_text="Who runs it, or ran it last.")
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True, blank=True)

    objects = ExecutionManager()

    class Meta:
        verbose_name = "execution"
        verbose_name_plural = "executions"
        default_permissions = ("view",)
        permissions = [
            ("confirm_jobexecution", "Can settle that an effect in doubt happened"),
            ("deny_jobexecution", "Can settle that an effect in doubt did not happen"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=~Q(status="processing") | Q(lease_expires_at__isnull=False),
                name="jobqueue_execution_processing_has_lease",
            ),
            models.CheckConstraint(
                condition=~Q(status="completed") | Q(completed_at__isnull=False),
                name="jobqueue_execution_completed_has_time",
            ),
        ]
        indexes = [
            # The order of a list that begins with what is in doubt: running ones first, the stalest in front.
            models.Index(
                fields=["-status", "lease_expires_at", "-created_at"], name="jobqueue_execution_list"
            ),
        ]

    def __str__(self) -> str:
        return str(self.idempotency_key)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refused: a whole-row write could undo what a runner wrote meanwhile."""
        raise TypeError("An execution is changed by once() and by confirm and deny, not by save().")


class JobLock(models.Model):
    """One lock under its name. The row stays when the lock is free, so that its token never falls."""

    name = ExactCharField(max_length=limits.KEY_LENGTH, primary_key=True)
    fencing_token = models.BigIntegerField(default=1, help_text="Rises by one at every acquisition.")
    owner = ExactCharField(max_length=limits.WORKER_ID_LENGTH)
    acquired_at = models.DateTimeField()
    lease_expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty while nobody holds it.")

    class Meta:
        verbose_name = "lock"
        verbose_name_plural = "locks"
        default_permissions = ("view",)

    def __str__(self) -> str:
        return str(self.name)

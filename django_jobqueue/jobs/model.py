"""The job's row."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import F, Q

from django_jobqueue.jobs import limits
from django_jobqueue.jobs.manager import JobManager
from django_jobqueue.jobs.priority import HIGHEST, LOWEST, priority_label
from django_jobqueue.jobs.status import FINISHED, Status
from django_jobqueue.vendors import DeepJSONField, ExactCharField, StatusIndex


class Job(models.Model):
    """One unit of work. Its state is changed by the verbs of ``Job.objects`` only, never by ``save()``."""

    id = models.BigAutoField(primary_key=True)
    type = ExactCharField(max_length=limits.TYPE_LENGTH, help_text="Name of the handler.")
    payload = DeepJSONField(default=dict, help_text="A JSON object; its entries are the handler's arguments.")
    queue = ExactCharField(max_length=limits.QUEUE_LENGTH, default="default")
    priority = models.SmallIntegerField(default=0, help_text="-100 to 100; higher runs first.")
    status = ExactCharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    run_at = models.DateTimeField(help_text="Earliest start.")
    retry_count = models.PositiveIntegerField(default=0, help_text="Retries used.")
    max_retries = models.PositiveIntegerField(default=3, help_text="Retries allowed; 0 never retries.")
    idempotency_key = ExactCharField(max_length=limits.KEY_LENGTH, null=True, blank=True, default=None)
    claimed_at = models.DateTimeField(null=True, blank=True)
    worker_id = ExactCharField(max_length=limits.WORKER_ID_LENGTH, blank=True, default="")
    claimed_by = ExactCharField(max_length=limits.PRINCIPAL_LENGTH, blank=True, default="")
    quarantined = models.BooleanField(
        default=False,
        db_default=False,
        help_text="An attempt was lost with its worker; the job runs in a process of its own.",
    )
    enqueued_by = ExactCharField(max_length=limits.PRINCIPAL_LENGTH, blank=True, default="")
    fencing_token = models.BigIntegerField(default=0, help_text="Rises by one at every claim.")
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, default="", help_text="The latest reason of failure.")
    result = DeepJSONField(null=True, blank=True)
    progress = DeepJSONField(null=True, blank=True)
    meta = DeepJSONField(default=dict, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobManager()

    replayed: bool = False
    """On what ``enqueue`` returns: whether the job was there already, found by its idempotency key."""
    mismatch: str = ""
    """On what ``enqueue`` replayed: what differs from the job of that key, ``type`` or ``payload``."""
    read_at: datetime | None = None
    """On a claim that was answered before: the database's clock when it was read again."""

    class Meta:
        verbose_name = "job"
        verbose_name_plural = "jobs"
        constraints = [
            models.UniqueConstraint(fields=["idempotency_key"], name="jobqueue_job_idempotency_key"),
            models.CheckConstraint(
                condition=Q(retry_count__lte=F("max_retries")), name="jobqueue_job_retries_within_limit"
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.RUNNING)
                | (~Q(worker_id="") & Q(claimed_at__isnull=False) & Q(lease_expires_at__isnull=False)),
                name="jobqueue_job_running_is_claimed",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=FINISHED) | Q(finished_at__isnull=False),
                name="jobqueue_job_finished_has_time",
            ),
            models.CheckConstraint(
                condition=Q(priority__gte=LOWEST, priority__lte=HIGHEST), name="jobqueue_job_priority_range"
            ),
        ]
        indexes = [
            StatusIndex(
                status=Status.PENDING, fields=["queue", "-priority", "id"], name="jobqueue_job_pending"
            ),
            StatusIndex(status=Status.SCHEDULED, fields=["run_at"], name="jobqueue_job_scheduled"),
            StatusIndex(status=Status.RUNNING, fields=["lease_expires_at"], name="jobqueue_job_running"),
            StatusIndex(status=Status.FAILED, fields=["id"], name="jobqueue_job_failed"),
        ]
        permissions = [
            ("enqueue_job", "Can enqueue jobs"),
            ("prioritize_job", "Can enqueue jobs at high priority or above"),
            ("work_job", "Can claim and acknowledge jobs"),
            ("manage_job", "Can cancel, retry, release and run jobs"),
            ("cancel_job", "Can cancel jobs"),
            ("retry_job", "Can retry jobs"),
            ("release_job", "Can release running jobs"),
            ("run_now_job", "Can run scheduled jobs now"),
            ("view_job_payload", "Can read payload, result and error of jobs"),
        ]

    def __str__(self) -> str:
        return f"{self.type} #{self.pk}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refused: a whole-row write could undo what a worker wrote meanwhile."""
        raise TypeError("A job is changed by the verbs of Job.objects (cancel, retry, ...), not by save().")

    @property
    def priority_label(self) -> str:
        """``low``, ``medium``, ``high`` or ``critical``."""
        return priority_label(self.priority)

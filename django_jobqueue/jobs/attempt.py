"""The record of an attempt that did not succeed."""

from __future__ import annotations

from django.db import models

from django_jobqueue.jobs import limits
from django_jobqueue.jobs.model import Job
from django_jobqueue.vendors import ExactCharField


class JobAttempt(models.Model):
    """One try of a job that ended without success. Success leaves no row, so it costs nothing."""

    class Outcome(models.TextChoices):
        FAILED = "failed"
        TIMED_OUT = "timed_out", "timed out"
        LOST = "lost"
        CANCELLED = "cancelled"

    id = models.BigAutoField(primary_key=True)
    # No constraint of the database's own: it would look for attempts of each row that goes, which makes deleting
    # completed jobs three times as slow (PostgreSQL). Attempts are written under their job's lock. Pruning
    # and Django's own ``delete`` take them along; SQL by hand has to.
    job = models.ForeignKey(Job, models.CASCADE, related_name="attempts", db_index=False, db_constraint=False)
    number = models.PositiveIntegerField(help_text="1 for the first try.")
    fencing_token = models.BigIntegerField(help_text="The fence of the claim that failed.")
    worker_id = ExactCharField(max_length=limits.WORKER_ID_LENGTH)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    outcome = ExactCharField(max_length=10, choices=Outcome.choices)
    exception_class = models.CharField(max_length=255, blank=True, default="")
    message = models.TextField(blank=True, default="")
    traceback = models.TextField(blank=True, default="")

    class Meta:
        verbose_name = "attempt"
        verbose_name_plural = "attempts"
        ordering = ["job", "id"]
        constraints = [
            models.UniqueConstraint(fields=["job", "fencing_token"], name="jobqueue_attempt_once_per_claim")
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of job {self.job_id}: {self.outcome}"

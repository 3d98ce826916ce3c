"""The record of a claim that may be asked for again."""

from __future__ import annotations

from django.db import models

from django_jobqueue.jobs import limits
from django_jobqueue.vendors import ExactCharField


class ClaimRequest(models.Model):
    """What a claim with a ``request_id`` was answered: kept while the lease of that answer lasts."""

    id = models.BigAutoField(primary_key=True)
    claimed_by = ExactCharField(max_length=limits.PRINCIPAL_LENGTH)
    request_id = ExactCharField(max_length=limits.REQUEST_ID_LENGTH)
    claims = models.JSONField(help_text="[id, fencing token] of each job.")
    expires_at = models.DateTimeField()

    class Meta:
        verbose_name = "claim request"
        verbose_name_plural = "claim requests"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["claimed_by", "request_id"], name="jobqueue_claim_request_once")
        ]
        indexes = [models.Index(fields=["expires_at"], name="jobqueue_claim_request_expiry")]

    def __str__(self) -> str:
        return f"{self.request_id} of {self.claimed_by}"

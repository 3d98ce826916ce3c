"""The ledger's entries, and what a person may do to one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models, router
from django.db.models import Q

from django_jobqueue.ledger.prune import count_prunable, prune
from django_jobqueue.ledger.settle import confirm, deny
from django_jobqueue.vendors import Now

if TYPE_CHECKING:
    from django_jobqueue.ledger.model import JobExecution


class ExecutionManager(models.Manager["JobExecution"]):
    """``once`` writes the entries; an operator settles those that are in doubt."""

    # processing, stale -> completed
    confirm = confirm
    # processing, stale -> failed
    deny = deny
    # completed | failed -> gone
    prune = prune
    count_prunable = count_prunable

    def in_doubt(self) -> models.QuerySet[JobExecution]:
        """Entries whose runner is gone without having said how it ended, the oldest first."""
        stale = Q(status="processing", lease_expires_at__lte=Now())
        return self.using(self.write_alias).filter(stale).order_by("lease_expires_at")

    @property
    def write_alias(self) -> str:
        """The database that the entries are written to, and the only one they are read from."""
        return self._db or router.db_for_write(self.model, **self._hints)  # type: ignore[attr-defined]

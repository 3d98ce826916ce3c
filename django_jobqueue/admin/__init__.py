"""The jobs and the ledger in Django's admin."""

from django_jobqueue.admin.jobs import JobAdmin
from django_jobqueue.admin.ledger import ExecutionAdmin

__all__ = ["ExecutionAdmin", "JobAdmin"]

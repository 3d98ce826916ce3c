"""The jobs in Django's admin."""

from django_jobqueue.admin.jobs import JobAdmin

__all__ = ["JobAdmin"]

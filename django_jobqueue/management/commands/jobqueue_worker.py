"""``runworker`` under a name that no other app takes."""

from django_jobqueue.management.commands.runworker import Command

__all__ = ["Command"]

"""``reapstale`` under a name that no other app takes."""

from django_jobqueue.management.commands.reapstale import Command

__all__ = ["Command"]

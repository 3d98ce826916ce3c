"""Priorities: integers from -100 to 100, four of which have a label."""

from __future__ import annotations

from django.db import models

from django_jobqueue.exceptions import InvalidJob

LOWEST, HIGHEST = -100, 100


class Priority(models.IntegerChoices):
    LOW = 0, "low"
    MEDIUM = 10, "medium"
    HIGH = 20, "high"
    CRITICAL = 30, "critical"


def parse_priority(value: int | str) -> int:
    """A label or an integer as the integer. Raises ``InvalidJob`` for anything else."""
    if isinstance(value, str):
        for priority in Priority:
            if priority.label == value:
                return int(priority)
        labels = ", ".join(str(priority.label) for priority in Priority)
        raise InvalidJob("priority", f"{value[:50]!r} is not one of {labels}, nor an integer.")
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidJob("priority", f"{type(value).__name__} is neither a label nor an integer.")
    if not LOWEST <= value <= HIGHEST:
        raise InvalidJob("priority", f"must be from {LOWEST} to {HIGHEST}.")
    return int(value)


def priority_label(value: int) -> str:
    """The label of ``value``; between two labels the lower one's, below zero ``low``."""
    label = Priority.LOW.label
    for priority in Priority:
        if value >= priority:
            label = priority.label
    return str(label)

"""What processes of these tests do."""

from __future__ import annotations


def enqueue(count: int) -> None:
    """Enqueue tasks from a process that runs none."""
    from tests.tasks_backend import tasks

    for number in range(count):
        tasks.effect.enqueue(str(number))

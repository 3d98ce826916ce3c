"""The statuses of a job, and the one table of edges between them."""

from __future__ import annotations

from django.db import models


class Status(models.TextChoices):
    SCHEDULED = "scheduled"
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINISHED = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)
"""The end states: a job stays in one until a person retries it or it is pruned."""

WAITING = (Status.SCHEDULED, Status.PENDING)

EDGES: dict[str, tuple[tuple[Status, ...], tuple[Status, ...]]] = {
    "promote": ((Status.SCHEDULED,), (Status.PENDING,)),
    "run_now": ((Status.SCHEDULED,), (Status.PENDING,)),
    "claim": ((Status.PENDING,), (Status.RUNNING,)),
    "heartbeat": ((Status.RUNNING,), (Status.RUNNING,)),
    "complete": ((Status.RUNNING,), (Status.COMPLETED,)),
    "retry_or_fail": (
        (Status.RUNNING,),
        (Status.PENDING, Status.SCHEDULED, Status.FAILED, Status.CANCELLED),
    ),
    "release": ((Status.RUNNING,), (Status.PENDING, Status.SCHEDULED, Status.CANCELLED)),
    "cancel": ((Status.SCHEDULED, Status.PENDING, Status.RUNNING), (Status.CANCELLED, Status.RUNNING)),
    "retry": ((Status.FAILED, Status.CANCELLED), (Status.PENDING,)),
}
"""Verb -> (statuses it starts from, statuses it ends in). Enqueue is the way in, prune the way out."""


def sources(verb: str) -> tuple[Status, ...]:
    """The statuses that ``verb`` starts from."""
    return EDGES[verb][0]

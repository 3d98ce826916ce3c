"""The rule of how many jobs may wait in a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connections

from django_jobqueue import registry
from django_jobqueue.conf import settings
from django_jobqueue.exceptions import QueueFull
from django_jobqueue.jobs.queryset import table_of
from django_jobqueue.vendors import vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager


def check_depth(manager: JobManager, type: str, *, queue: str | None, idempotency_key: str | None) -> None:
    """Raise ``QueueFull`` if an enqueue would add to a queue that has ``MAX_QUEUE_DEPTH`` waiting jobs.

    An enqueue whose key a job has already adds nothing, so it always passes. The bound holds up to what
    callers add at the same moment. Costs one statement for a queue that has a bound, which counts no further
    than that.
    """
    depths = settings().MAX_QUEUE_DEPTH
    if depths is None:
        return
    handler = registry.get(type)
    queue = queue or (handler.queue if handler else "default")
    depth = depths.get(queue) if isinstance(depths, dict) else depths
    if depth is None:
        return
    connection = connections[manager.write_alias]
    waiting = vendor_for(connection).count_waiting(
        connection, table_of(manager.model), queue=queue, limit=depth
    )
    if waiting < depth:
        return
    same_key = manager.using(manager.write_alias).filter(idempotency_key=idempotency_key)
    if idempotency_key is None or not same_key.exists():
        raise QueueFull(queue, depth)

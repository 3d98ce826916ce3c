"""Whether the rows of completed jobs stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django_jobqueue import registry
from django_jobqueue.conf import settings

if TYPE_CHECKING:
    from django_jobqueue.workers.job import RunningJob


def is_kept(job: RunningJob, *, rows_stay: bool) -> bool:
    """Whether this job's row stays, given whether those of its type and queue do.

    A key has to stay taken, and a row that was claimed before may have attempts.
    """
    return rows_stay or job.idempotency_key is not None or job.fencing_token > 1


def rows_stay(type: str, queue: str) -> bool:
    """What the handler, or else the setting, says of completed jobs of this type and queue."""
    handler = registry.get(type)
    own = handler.keep_completed if handler is not None else None
    return own if own is not None else settings().keeps_completed(queue)

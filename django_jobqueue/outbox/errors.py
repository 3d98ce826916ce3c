"""Why something was not delivered."""

from __future__ import annotations

from django_jobqueue.exceptions import JobQueueError


class NotDelivered(JobQueueError):
    """This attempt failed, and another may succeed. An ordinary failure: it counts as a retry."""

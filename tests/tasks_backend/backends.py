"""A backend of a project's own."""

from django_jobqueue.backend import JobQueueBackend


class OnceBackend(JobQueueBackend):
    """Sends its signals under its own name."""

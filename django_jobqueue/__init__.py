"""A persistent background-job queue in your Django project's own database."""

from django_jobqueue.backoff import constant, exponential, linear
from django_jobqueue.exceptions import Cancelled, PermanentFailure, RetryLater, Snooze
from django_jobqueue.registry import job_handler

__version__ = "0.1.0"
__all__ = [
    "Cancelled",
    "PermanentFailure",
    "RetryLater",
    "Snooze",
    "constant",
    "exponential",
    "job_handler",
    "linear",
]

"""A persistent background-job queue in your Django project's own database."""

from django_jobqueue.backoff import constant, exponential, linear
from django_jobqueue.exceptions import Cancelled, ExecutionInDoubt, PermanentFailure, RetryLater, Snooze
from django_jobqueue.ledger.lock import job_lock
from django_jobqueue.ledger.once import aonce, once
from django_jobqueue.registry import job_handler

__version__ = "0.1.0"
__all__ = [
    "Cancelled",
    "ExecutionInDoubt",
    "PermanentFailure",
    "RetryLater",
    "Snooze",
    "aonce",
    "constant",
    "exponential",
    "job_handler",
    "job_lock",
    "linear",
    "once",
]

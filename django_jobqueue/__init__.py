"""A persistent background-job queue in your Django project's own database."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_MODULES = {
    "backoff": ("constant", "exponential", "linear"),
    "exceptions": ("Cancelled", "ExecutionInDoubt", "PermanentFailure", "RetryLater", "Snooze"),
    "ledger.lock": ("job_lock",),
    "ledger.once": ("aonce", "once"),
    "registry": ("job_handler",),
}


def __getattr__(name: str) -> Any:
    # Imported when first used, so that the HTTP client below this package does without Django.
    for module, names in _MODULES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

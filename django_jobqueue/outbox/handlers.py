"""The handlers of outbox jobs. What a deliverer needs is loaded by the first delivery: most workers have none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string

from django_jobqueue.backoff import Backoff, exponential
from django_jobqueue.outbox.errors import NotDelivered
from django_jobqueue.outbox.messages import MESSAGE, WEBHOOK
from django_jobqueue.registry import job_handler


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deliverer:
    type: str
    path: str
    packages: str
    max_retries: int
    backoff: Backoff


_DELIVERERS = (
    _Deliverer(
        type=WEBHOOK,
        path="django_jobqueue.outbox.webhook.deliver_webhook",
        packages="httpx standardwebhooks",
        max_retries=17,
        backoff=exponential(base=5, cap=4 * 3600),  # about a day
    ),
    _Deliverer(
        type=MESSAGE,
        path="django_jobqueue.outbox.broker.publish_message",
        packages="kombu",
        max_retries=25,
        backoff=exponential(base=1, cap=3600),  # half a day; while the broker is away, no retry is counted
    ),
)


def register() -> None:
    """Register both handlers. They are async, so that a slow receiver holds up no thread of the worker."""
    for deliverer in _DELIVERERS:
        _register(deliverer)


def _register(deliverer: _Deliverer) -> None:
    @job_handler(deliverer.type, max_retries=deliverer.max_retries, backoff=deliverer.backoff)
    async def deliver(job: Any, /, **payload: Any) -> Any:
        try:
            function = import_string(deliverer.path)
        except ImportError as error:
            raise NotDelivered(
                f"{job.type} needs a package that this worker does not have ({error.name or error}). Install it: "
                f"pip install {deliverer.packages}."
            ) from None
        return await function(job, deliverer.backoff, payload)

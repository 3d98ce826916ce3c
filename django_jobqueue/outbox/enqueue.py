"""-> pending | scheduled: what happened, to be told by a worker after the commit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from django.views.decorators.debug import sensitive_variables

from django_jobqueue.backoff import Backoff
from django_jobqueue.outbox.messages import MESSAGE, WEBHOOK, Message, Webhook
from django_jobqueue.registry import Order

if TYPE_CHECKING:
    from django_jobqueue.jobs.model import Job


class Choices(TypedDict, total=False):
    """What can be chosen for any job; see ``Job.objects.enqueue``."""

    queue: str
    priority: int | str
    max_retries: int
    backoff: Backoff | str
    idempotency_key: str
    run_at: datetime | timedelta
    meta: dict[str, Any]
    database: str


@sensitive_variables()
def enqueue_webhook(
    url: str,
    data: Any,
    *,
    secret: str | None = "default",
    headers: Mapping[str, str] | None = None,
    **choices: Unpack[Choices],
) -> Job:
    """Have ``data`` (JSON) sent to ``url`` by HTTP POST after the caller's transaction has committed.

    It is signed as Standard Webhooks says, with the secret of this name in ``WEBHOOK_SECRETS``; ``None`` leaves
    it unsigned. ``headers`` are added as they are, and are stored with the job, so they are no place for secrets.
    The ``webhook-id`` is the same at every attempt. Raises ``InvalidJob`` naming the argument, and whatever
    ``Job.objects.enqueue`` raises.
    """
    return _enqueue(WEBHOOK, Webhook(url=url, data=data, secret=secret, headers=headers), choices)


@sensitive_variables()
def enqueue_message(
    body: Any,
    *,
    routing_key: str = "",
    exchange: str = "",
    headers: Mapping[str, str | int | float | bool] | None = None,
    **choices: Unpack[Choices],
) -> Job:
    """Have ``body`` (JSON) published to the broker of ``BROKER_URL`` after the caller's transaction has committed.

    It goes to ``exchange`` with this routing key; without an exchange, to the queue that the routing key names.
    Message id and headers are the same at every attempt. Raises ``InvalidJob`` naming the argument, and whatever
    ``Job.objects.enqueue`` raises.
    """
    message = Message(body=body, routing_key=routing_key, exchange=exchange, headers=headers)
    return _enqueue(MESSAGE, message, choices)


def _enqueue(type: str, message: Webhook | Message, choices: Choices) -> Job:
    database = choices.pop("database", None)
    job: Job = Order(type, dict(choices), database).enqueue(**message.payload())
    return job

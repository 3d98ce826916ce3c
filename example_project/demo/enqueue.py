"""The jobs of one run of the demo."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from django_jobqueue.models import Job
from example_project.jobs import charge_card, make_thumbnails, post_webhook, send_invoice
from example_project.models import Order

EVENT_ORDERS = 4


def charge_key(order: Order) -> str:
    return f"charge-{order.number}"


def invoice_key(order: Order) -> str:
    return f"invoice-{order.number}"


def event_key(order: Order) -> str:
    return f"paid-{order.number}"


def thumbnails_key(folder: str) -> str:
    return f"thumbnails-{folder}"


def enqueue_all(queue: str, orders: Sequence[Order], folders: Sequence[str]) -> list[Job]:
    """Enqueue all jobs of the run, each with the key of what it stands for; all or none of them.

    Called again, it returns the same jobs, each ``replayed``.
    """
    jobs: list[Job] = []
    with transaction.atomic():
        for folder in folders:
            thumbnails = make_thumbnails.using(queue=queue, idempotency_key=thumbnails_key(folder))
            jobs.append(thumbnails.enqueue(folder=folder))
        for order in orders:
            charge = charge_card.using(queue=queue, idempotency_key=charge_key(order))
            invoice = send_invoice.using(queue=queue, idempotency_key=invoice_key(order))
            jobs += [charge.enqueue(order_id=order.pk), invoice.enqueue(order_id=order.pk)]
        for order in orders[:EVENT_ORDERS]:
            event = post_webhook.using(queue=queue, idempotency_key=event_key(order))
            jobs.append(event.enqueue(order_id=order.pk, event="paid"))
    return jobs

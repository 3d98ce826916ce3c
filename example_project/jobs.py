"""The shop's background work: a handler per job type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from PIL import Image

from django_jobqueue import Cancelled, PermanentFailure, constant, job_handler
from example_project import partners
from example_project.models import Order

if TYPE_CHECKING:
    from django_jobqueue.workers.job import RunningJob

IMAGES = {".jpg", ".jpeg", ".png", ".webp"}


def _order(order_id: int) -> Order:
    try:
        return Order.objects.prefetch_related("lines").get(pk=order_id)
    except Order.DoesNotExist:
        raise PermanentFailure(f"order_id: there is no order {order_id}.") from None


def _key(job: RunningJob) -> str:
    """What makes a repeated effect recognisable: the same for every attempt of the job."""
    return job.idempotency_key or f"job-{job.id}"


@job_handler("send-invoice", timeout=60)
def send_invoice(job: RunningJob, *, order_id: int) -> dict[str, Any]:
    """Render the order's invoice and mail it to the customer."""
    order = _order(order_id)
    message_id = f"<{_key(job)}@shop.example>"
    email = EmailMultiAlternatives(
        subject=f"Invoice for order {order.number}",
        body=render_to_string("example_project/invoice.txt", {"order": order}),
        from_email="shop@shop.example",
        to=[order.email],
        headers={"Message-ID": message_id},
    )
    email.attach_alternative(render_to_string("example_project/invoice.html", {"order": order}), "text/html")
    email.send()
    return {"message_id": message_id}


@job_handler("charge-card", priority="high", max_retries=0, timeout=60)
def charge_card(job: RunningJob, *, order_id: int) -> dict[str, Any]:
    """Charge the customer's card. Never retried by itself: after a failure a person asks the gateway."""
    return partners.charge(_order(order_id), key=_key(job))


@job_handler("post-webhook", priority="medium", max_retries=8, backoff=constant(0.5), timeout=60)
def post_webhook(job: RunningJob, *, order_id: int, event: str) -> dict[str, Any]:
    """Tell the warehouse that something happened to an order, again and again until it listens."""
    return partners.notify(_order(order_id), event, key=_key(job))


@job_handler("make-thumbnails", timeout=300)
def make_thumbnails(job: RunningJob, *, folder: str, size: int = 160) -> dict[str, Any]:
    """Write a thumbnail of every image in a folder of ``SHOP_IMAGES_DIR`` into its folder ``thumbnails``."""
    root = Path(settings.SHOP_IMAGES_DIR).resolve()
    source = (root / folder).resolve()
    if not source.is_relative_to(root) or not source.is_dir():
        raise PermanentFailure(f"folder: there is no folder {folder!r} in SHOP_IMAGES_DIR.")
    files = sorted(file for file in source.iterdir() if file.suffix.lower() in IMAGES)
    target = source / "thumbnails"
    target.mkdir(exist_ok=True)
    for done, file in enumerate(files):
        if job.cancel_requested:
            raise Cancelled(f"after {done} of {len(files)} images")
        _thumbnail(file, target / f"{file.stem}.jpg", size)
        job.heartbeat(progress={"done": done + 1, "of": len(files)})
    return {"thumbnails": len(files)}


def _thumbnail(source: Path, target: Path, size: int) -> None:
    draft = target.with_suffix(".draft")
    with Image.open(source) as image:
        image.thumbnail((size, size))
        image.convert("RGB").save(draft, "JPEG")
    draft.replace(target)

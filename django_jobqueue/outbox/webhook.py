"""The deliverer of web hooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx
from asgiref.sync import sync_to_async
from django.utils.module_loading import import_string
from standardwebhooks import Webhook as Signer

from django_jobqueue import __version__
from django_jobqueue.backoff import Backoff, delay_before, from_meta
from django_jobqueue.conf import settings
from django_jobqueue.exceptions import InvalidJob, PermanentFailure, RetryLater
from django_jobqueue.jobs import limits
from django_jobqueue.outbox import retry_after
from django_jobqueue.outbox.errors import NotDelivered
from django_jobqueue.outbox.messages import Webhook
from django_jobqueue.outbox.post import Answer, post

if TYPE_CHECKING:
    from django_jobqueue.workers.job import RunningJob

_MAY_PASS = {408, 425, 429}
"""Refusals of the moment. Every other 4xx says that the same request will be refused again."""

_USER_AGENT = f"django_jobqueue/{__version__}"


async def deliver_webhook(job: RunningJob, backoff: Backoff, payload: Mapping[str, Any]) -> dict[str, Any]:
    """POST the data to the URL, signed; the job's result is the message's id, the status and the answer's beginning.

    Delivered is what was answered with 2xx. Raises ``PermanentFailure`` for 3xx, 4xx and a URL that is refused;
    ``NotDelivered``, or ``RetryLater`` where the receiver asked for it, for everything that may pass.
    """
    try:
        webhook = Webhook(**payload)
    except (InvalidJob, TypeError) as error:
        raise PermanentFailure(f"payload: {error}") from None
    options = settings()
    message_id = job.effect_key("webhook")
    content = json.dumps(webhook.data, ensure_ascii=False, separators=(",", ":")).encode()
    headers = httpx.Headers({"user-agent": _USER_AGENT})
    headers.update(webhook.headers)
    headers.update(await _own_headers(webhook.secret, message_id, content))
    try:
        answer = await post(
            webhook.url,
            content,
            headers,
            timeout=options.WEBHOOK_TIMEOUT,
            # A byte is up to six in JSON, and a result that is too large would fail what was delivered.
            max_bytes=min(options.WEBHOOK_MAX_RESPONSE_BYTES, (options.MAX_RESULT_BYTES - 200) // 6),
            allowed_networks=options.WEBHOOK_ALLOWED_NETWORKS,
        )
    except TimeoutError:
        raise NotDelivered(f"The receiver gave no answer within {options.WEBHOOK_TIMEOUT:g} s.") from None
    except (httpx.InvalidURL, UnicodeError) as error:
        raise PermanentFailure(f"url: {error}") from None
    except (httpx.TransportError, OSError) as error:
        what = ": ".join(filter(None, (type(error).__name__, str(error))))
        raise NotDelivered(f"The receiver could not be reached, or broke off: {what}") from None
    _raise_unless_delivered(answer, job, backoff)
    return {"message_id": message_id, "status": answer.status, "body": _text(answer.body)}


async def _own_headers(secret: str | None, message_id: str, content: bytes) -> dict[str, str]:
    now = datetime.now(UTC)
    headers = {
        "content-type": "application/json",
        "accept-encoding": "identity",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
    }
    if secret is not None:
        signers = [Signer(text) for text in await _secrets(secret)]
        signatures = [signer.sign(message_id, now, content.decode()) for signer in signers]
        headers["webhook-signature"] = " ".join(signatures)
    return headers


async def _secrets(name: str) -> list[str]:
    """The secrets of this name, the newest first."""
    source = settings().WEBHOOK_SECRETS
    if isinstance(source, str):
        source = import_string(source)
    if callable(source):
        found = await sync_to_async(source)(name)
    else:
        found = (source or {}).get(name)
    if not found:
        raise NotDelivered(f"secret: WEBHOOK_SECRETS has none that is named {name!r}. Nothing was sent.")
    return [found] if isinstance(found, str) else list(found)


def _raise_unless_delivered(answer: Answer, job: RunningJob, backoff: Backoff) -> None:
    status = answer.status
    if 200 <= status < 300:
        return
    said = f"The receiver answered {status}"
    if 300 <= status < 400:
        to = limits.shorten(answer.headers.get("location", "nowhere"), 500)
        raise PermanentFailure(
            f"{said} and points to {to}. Redirects are not followed; enqueue with the right URL."
        )
    body = _text(answer.body)
    said = f"{said}: {body}" if body else f"{said}."
    if status == 410:
        raise PermanentFailure(f"{said} It wants no more of these; remove its URL.")
    if 400 <= status < 500 and status not in _MAY_PASS:
        raise PermanentFailure(said)
    asked = retry_after.seconds(answer.headers.get("retry-after"), datetime.now(UTC))
    if asked > 0:
        # A receiver may ask for more patience than the backoff has, not for less.
        raise RetryLater(max(asked, _own_delay(job, backoff)), said)
    raise NotDelivered(said)


def _own_delay(job: RunningJob, backoff: Backoff) -> float:
    stored = job.meta.get("_backoff")
    return delay_before(job.retry_count + 1, backoff if stored is None else from_meta(stored))


def _text(body: bytes) -> str:
    return limits.shorten(body.decode(errors="replace"))

"""What the shop says over HTTP to its card gateway and to its warehouse's web hook."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from example_project.models import Order

TIMEOUT = 30.0
"""Seconds to wait for an answer."""


class PartnerError(Exception):
    """The other side refused, or it is not known what it did; the message says which."""


def charge(order: Order, *, key: str) -> dict[str, Any]:
    """Charge the order's total; the gateway charges once per ``key``. Raises ``PartnerError``."""
    cents = int(order.total * 100)
    return _post("SHOP_GATEWAY_URL", "gateway", {"order": order.number, "cents": cents}, key)


def notify(order: Order, event: str, *, key: str) -> dict[str, Any]:
    """Tell the warehouse about an event; it takes an event once per ``key``. Raises ``PartnerError``."""
    return _post("SHOP_WEBHOOK_URL", "web hook", {"order": order.number, "event": event}, key)


def _post(setting: str, partner: str, body: dict[str, Any], key: str) -> dict[str, Any]:
    url = urlsplit(getattr(settings, setting))
    if url.scheme != "http" or not url.netloc:
        raise PartnerError(
            f"{setting} is not set, so the {partner} was not asked. 'manage.py demo --serve' starts one."
        )
    connection = HTTPConnection(url.netloc, timeout=TIMEOUT)
    try:
        connection.request(
            "POST",
            url.path,
            json.dumps(body),
            {"Content-Type": "application/json", "Idempotency-Key": key},
        )
        response = connection.getresponse()
        answer = response.read()
    except ConnectionRefusedError:
        raise PartnerError(f"The {partner} is not there; it was not asked.") from None
    except (OSError, HTTPException) as error:
        raise PartnerError(
            f"The {partner} gave no answer ({type(error).__name__}); what it did is not known."
        ) from error
    finally:
        connection.close()
    if response.status >= 300:
        raise PartnerError(f"The {partner} answered {response.status}.")
    result: dict[str, Any] = json.loads(answer)
    return result

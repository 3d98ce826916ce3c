"""What an outbox job's payload holds, checked alike where it is enqueued and where it is delivered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits

WEBHOOK = "jobqueue.webhook"
MESSAGE = "jobqueue.message"
"""The types of the jobs."""

URL_LENGTH = 2000
SECRET_NAME_LENGTH = 100
HEADERS = 50
HEADER_LENGTH = 4096
EXCHANGE_LENGTH = ROUTING_KEY_LENGTH = 255  # AMQP's own, there in bytes

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_OWN_HEADERS = frozenset(
    [
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """One web hook: where to, what, and the name of the secret that signs it (``None``: unsigned).

    Making one raises ``InvalidJob`` naming the field.
    """

    url: str
    data: Any
    secret: str | None = "default"
    headers: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        _check_url(self.url)
        if self.secret is not None:
            limits.check_text("secret", self.secret, SECRET_NAME_LENGTH)
        for name, value in _items(self.headers):
            if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
                raise InvalidJob("headers", f"{str(name)[:50]!r} is not the name of a header.")
            if name.lower() in _OWN_HEADERS:
                raise InvalidJob("headers", f"{name!r} is set by the delivery itself.")
            if not isinstance(value, str) or len(value) > HEADER_LENGTH or not _HEADER_VALUE.fullmatch(value):
                raise InvalidJob(
                    f"headers.{name}",
                    f"must be a text of one line, in ASCII, of at most {HEADER_LENGTH} bytes.",
                )

    def payload(self) -> dict[str, Any]:
        """The job's payload."""
        return _payload(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message for a broker. ``body`` is sent as JSON; without an exchange the routing key names a queue.

    Making one raises ``InvalidJob`` naming the field.
    """

    body: Any
    routing_key: str = ""
    exchange: str = ""
    headers: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _check_name("exchange", self.exchange, EXCHANGE_LENGTH)
        _check_name("routing_key", self.routing_key, ROUTING_KEY_LENGTH)
        if not self.exchange and not self.routing_key:
            raise InvalidJob("routing_key", "must name a queue where no exchange is given.")
        for name, value in _items(self.headers):
            if not isinstance(name, str) or not 0 < len(name.encode(errors="replace")) <= 255:
                raise InvalidJob("headers", f"{str(name)[:50]!r} is not the name of a header.")
            if not isinstance(value, str | int | float | bool):
                raise InvalidJob(f"headers.{name}", "must be a text, a number or a boolean.")

    def payload(self) -> dict[str, Any]:
        """The job's payload."""
        return _payload(self)


def _payload(message: Webhook | Message) -> dict[str, Any]:
    values = {field.name: getattr(message, field.name) for field in fields(message)}
    return {name: value for name, value in values.items() if name != "headers" or value}


def _items(headers: Any) -> list[tuple[Any, Any]]:
    if headers is None:
        return []
    if not isinstance(headers, Mapping):
        raise InvalidJob("headers", "must be an object (a dict).")
    if len(headers) > HEADERS:
        raise InvalidJob("headers", f"has {len(headers)} entries; at most {HEADERS} are allowed.")
    return list(headers.items())


def _check_name(field: str, value: Any, length: int) -> None:
    if value == "":
        return
    limits.check_text(field, value, length)
    if len(value.encode()) > length:
        raise InvalidJob(field, f"has more than {length} bytes.")


def _check_url(url: Any) -> None:
    limits.check_text("url", url, URL_LENGTH)
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise InvalidJob("url", "must be ASCII without spaces; percent-encode other characters.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidJob("url", f"cannot be read: {error}.") from None
    if parts.scheme not in ("http", "https"):
        raise InvalidJob("url", "must begin with https:// or http://.")
    if not parts.hostname or port == 0:
        raise InvalidJob("url", "must name a host, and no port or one from 1 to 65535.")
    if "@" in parts.netloc:
        raise InvalidJob("url", "must hold no user name or password: it is stored and shown as it is.")

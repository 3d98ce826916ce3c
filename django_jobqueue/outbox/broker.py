"""The deliverer of messages to a broker."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from amqp.exceptions import MessageNacked
from kombu import Connection, Producer

from django_jobqueue.backoff import Backoff
from django_jobqueue.conf import Settings, settings
from django_jobqueue.exceptions import InvalidJob, PermanentFailure, Snooze
from django_jobqueue.jobs import limits
from django_jobqueue.outbox.errors import NotDelivered
from django_jobqueue.outbox.messages import Message

if TYPE_CHECKING:
    from django_jobqueue.workers.job import RunningJob

logger = logging.getLogger("django_jobqueue")

_LONGEST_WAIT = 300.0
_RECOVERY = 1.0  # seconds after a lost broker in which nobody else tries it
_NO_ROUTE = 312


async def publish_message(job: RunningJob, backoff: Backoff, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Publish the body, persistent, and wait for the broker's confirmation; the result is the message's id.

    Raises ``Snooze`` while the broker cannot be reached: that is not the message's fault, and counts no retry.
    Raises ``NotDelivered`` for what the broker refuses or cannot route, and ``PermanentFailure`` for a payload
    that is no message.
    """
    try:
        message = Message(**payload)
    except (InvalidJob, TypeError) as error:
        raise PermanentFailure(f"payload: {error}") from None
    message_id = job.effect_key("message")
    try:
        await asyncio.to_thread(_broker().publish, message, message_id)
    except BrokerAway as error:
        # The fencing token counts the claims of this job.
        delay = min(_LONGEST_WAIT, 2.0 ** min(job.fencing_token - 1, 10))
        raise Snooze(delay, f"The broker cannot be reached: {error}") from None
    return {"message_id": message_id}


class BrokerAway(Exception):
    """There is no connection to the broker, or it was lost before the message was confirmed."""


class Broker:
    """Connections to one broker. Each is used by one thread at a time, kept open, and dropped when it fails."""

    def __init__(self, options: Settings) -> None:
        self.options = options
        self._idle: deque[_Line] = deque()
        self._away_until = 0.0

    def publish(self, message: Message, message_id: str) -> None:
        """Publish and wait until the broker has confirmed it. Raises ``BrokerAway`` or ``NotDelivered``."""
        while self._idle:
            try:
                line = self._idle.pop()
            except IndexError:
                break
            try:
                self._publish(line, message, message_id)
                return
            except BrokerAway:
                self.close()  # it was lost while it was idle, and most likely the others with it
        self._publish(self._connect(), message, message_id)

    def close(self) -> None:
        """Drop the connections that nobody uses."""
        while self._idle:
            with contextlib.suppress(IndexError):
                self._idle.pop().drop()

    def _connect(self) -> _Line:
        url = self.options.BROKER_URL
        if url is None:
            raise NotDelivered("BROKER_URL is not set, so there is no broker to publish to.")
        if time.monotonic() < self._away_until:
            raise BrokerAway("it was not there a moment ago")
        try:
            return _Line(url, self.options.BROKER_TIMEOUT, self.options.BROKER_OPTIONS or {})
        except BrokerAway:
            self._away_until = time.monotonic() + _RECOVERY
            logger.warning("The broker cannot be reached; messages wait for it")
            raise

    def _publish(self, line: _Line, message: Message, message_id: str) -> None:
        line.publish(message, message_id)
        self._idle.append(line)


class _Line:
    """One connection with one channel. After an error it is dropped, whatever the error was."""

    def __init__(self, url: str, timeout: float, options: Mapping[str, Any]) -> None:
        timeouts = {"read_timeout": timeout, "write_timeout": timeout}
        transport_options = {**timeouts, **options.get("transport_options", {}), "confirm_publish": True}
        self._timeout = timeout
        self._connection = Connection(
            url, **{"connect_timeout": timeout, **options, "transport_options": transport_options}
        )
        with self._errors("the connection"):
            # Two tries, because a URL may name two hosts.
            self._connection.ensure_connection(
                max_retries=1, interval_start=0, interval_step=0, reraise_as_library_errors=False
            )
            self._channel = self._connection.channel()

    def publish(self, message: Message, message_id: str) -> None:
        """Publish, and wait for the confirmation."""
        to = f"the message (exchange {message.exchange!r}, routing key {message.routing_key!r})"
        with self._errors(to):
            Producer(self._channel).publish(
                json.dumps(message.body, ensure_ascii=False, separators=(",", ":")).encode(),
                exchange=message.exchange,
                routing_key=message.routing_key,
                headers=dict(message.headers or {}),
                message_id=message_id,
                content_type="application/json",
                content_encoding="utf-8",
                delivery_mode="persistent",
                mandatory=True,
                timeout=self._timeout,
                confirm_timeout=self._timeout,
            )

    def drop(self) -> None:
        """Close without the farewell, for which a broker that hangs would be waited for."""
        with contextlib.suppress(Exception):
            self._connection.collect()

    @contextlib.contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Errors about ``what`` as those of this module; the connection is gone then."""
        connection = self._connection
        try:
            yield
        except MessageNacked:
            self.drop()
            raise NotDelivered(f"The broker did not take {what}: it has no room for it.") from None
        except connection.recoverable_connection_errors as error:
            self.drop()
            raise BrokerAway(_text(error)) from None
        except connection.connection_errors + connection.channel_errors as error:
            self.drop()
            if getattr(error, "reply_code", None) == _NO_ROUTE:
                raise NotDelivered(
                    f"The broker has no queue for {what}; its consumer declares one."
                ) from None
            raise NotDelivered(f"The broker refused {what}: {_text(error)}") from None
        except BaseException:
            self.drop()
            raise


def _text(error: BaseException) -> str:
    return limits.shorten(": ".join(filter(None, (type(error).__name__, str(error)))), 500)


_lock = threading.Lock()
_current: Broker | None = None


def _broker() -> Broker:
    """The broker of the settings."""
    global _current
    with _lock:
        if _current is None or _current.options is not settings():
            if _current is not None:
                _current.close()
            _current = Broker(settings())
        return _current

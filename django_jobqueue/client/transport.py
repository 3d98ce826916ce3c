"""What both clients share: how a call becomes a request, and what an answer means."""

from __future__ import annotations

from typing import Any, TypeVar

import httpx

from django_jobqueue.client.calls import Call
from django_jobqueue.client.errors import Unavailable, error_of

T = TypeVar("T")

TRIES = 5
TIMEOUT = 30.0
LONGEST_PAUSE = 30.0

_COME_AGAIN = (429, 502, 503, 504)


class Attempts:
    """The tries of one call: how long to wait before the next one, or what to raise."""

    def __init__(self, call: Call[T], tries: int) -> None:
        self._call = call
        self._left = tries
        self._pause = 0.1

    def after(self, outcome: httpx.Response | httpx.TransportError) -> float | None:
        """Seconds until the next try; ``None`` when ``outcome`` is the answer. Raises ``Unavailable``."""
        self._left -= 1
        wait, self._pause = self._pause, min(LONGEST_PAUSE, self._pause * 2)
        if isinstance(outcome, httpx.Response):
            if outcome.status_code not in _COME_AGAIN:
                return None
            wait = _retry_after(outcome) or wait
            done_nothing = outcome.status_code == 429
        else:
            done_nothing = isinstance(outcome, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        if self._left <= 0 or not (self._call.repeatable or done_nothing):
            said = outcome.text if isinstance(outcome, httpx.Response) else repr(outcome)
            raise Unavailable(f"{self._call.method} {self._call.path}: {said}")
        return wait


def request_of(call: Call[T]) -> dict[str, Any]:
    """The arguments of httpx's ``request``."""
    return {
        "method": call.method,
        "url": call.path,
        "params": call.query,
        "json": call.body if call.method == "POST" else None,
    }


def read(call: Call[T], response: httpx.Response) -> T:
    """What the answer says. Raises ``Refused``."""
    body = _json(response)
    if response.is_success:
        return call.read(body, response.headers)
    raise error_of(response.status_code, body)


def headers_of(token: str | None) -> dict[str, str]:
    """The headers of every request."""
    return {"Accept": "application/json", **({"Authorization": f"Token {token}"} if token else {})}


def _json(response: httpx.Response) -> Any:
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError:
        return {"detail": response.text[:500]}


def _retry_after(response: httpx.Response) -> float | None:
    text = response.headers.get("Retry-After", "")
    return min(LONGEST_PAUSE, float(text)) if text.isdecimal() else None

"""Real HTTP to a real server, for tests."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier
from typing import Any


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Any
    body: Any


def post(url: str, token: str, body: Any) -> Answer:
    """POST ``body`` as JSON."""
    headers = {"Content-Type": "application/json", "Authorization": f"Token {token}"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return Answer(response.status, response.headers, json.loads(response.read() or "null"))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, json.loads(error.read()))


def at_once(count: int, call: Callable[[int], Answer]) -> list[Answer]:
    """The answers to ``count`` calls that all start at the same moment."""
    barrier = Barrier(count)

    def wait_and_call(index: int) -> Answer:
        barrier.wait()
        return call(index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(wait_and_call, range(count)))

"""The card gateway: it charges once per key, and it is flaky."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from typing import Any

from example_project.demo.server import Partner


class Gateway(Partner):
    """Honours ``Idempotency-Key``: a repeated request gets the charge that was made, none is made again.

    The first request of a key in ``refuse`` is answered 503 and not charged; one in ``drop`` is charged and
    its connection closed without an answer; the one to ``hold`` is charged and answered late.
    """

    path = "/charges"

    def __init__(self, *, refuse: Collection[str] = (), drop: Collection[str] = (), hold: str = "") -> None:
        super().__init__(hold=hold)
        self._refuse, self._drop = refuse, drop
        self.requests: Counter[str] = Counter()
        self.charges: Counter[str] = Counter()

    def answer(self, key: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        if not key or not isinstance(body.get("cents"), int):
            return 400, {"error": "send the header Idempotency-Key, and cents as an integer"}
        time.sleep(0.05)
        with self.lock:
            self.requests[key] += 1
            first = self.requests[key] == 1
            if first and key in self._refuse:
                return 503, {"error": "try again later"}
            if not self.charges[key]:
                self.charges[key] += 1
        self.wait_if_held(key)
        if first and key in self._drop:
            return None
        return 200, {"charge": f"ch-{key}", "cents": body["cents"]}

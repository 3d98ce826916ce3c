"""The warehouse's web hook: it fails twice for each event and then takes it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from example_project.demo.server import Partner

FAILURES = 2


class WebHook(Partner):
    """Takes an event, which ``Idempotency-Key`` names, at the third request, and once however often it comes.

    The first request of the key to hold is answered, with a failure too, only after ``release``.
    """

    path = "/events"

    def __init__(self, *, hold: str = "") -> None:
        super().__init__(hold=hold)
        self.requests: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()

    def answer(self, key: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        with self.lock:
            self.requests[key] += 1
            number = self.requests[key]
        self.wait_if_held(key)
        if number <= FAILURES:
            return 500, {"error": "the warehouse is asleep"}
        with self.lock:
            if not self.accepted[key]:
                self.accepted[key] += 1
        return 200, {"event": key}

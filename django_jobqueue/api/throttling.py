"""Rates of the protocol's calls, by DRF's own settings: a scope without a rate is not throttled."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import SimpleRateThrottle

SCOPES = ("jobqueue-enqueue", "jobqueue-claim", "jobqueue")
"""Adding jobs, claiming them, and all other calls."""


class JobQueueThrottle(SimpleRateThrottle):
    """The rate of the view's scope (``view.throttle``), counted for each user."""

    def __init__(self) -> None:
        """The rate is known with the view only."""

    def allow_request(self, request: Request, view: Any) -> bool:
        self.scope = view.throttle if request.method == "POST" else "jobqueue"
        rates: dict[str, str | None] = api_settings.DEFAULT_THROTTLE_RATES  # type: ignore[assignment]
        self.rate = rates.get(self.scope)
        if self.rate is None:
            return True
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return super().allow_request(request, view)

    def get_cache_key(self, request: Request, view: Any) -> str:
        ident = request.user.pk if request.user and request.user.is_authenticated else self.get_ident(request)
        return self.cache_format % {"scope": self.scope, "ident": ident}

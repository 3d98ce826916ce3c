"""What the log is told while the database does not do what it is asked: at once, then ever more rarely."""

from __future__ import annotations

import logging
import time

from django_jobqueue.vendors import hint

logger = logging.getLogger("django_jobqueue.worker")

_SOONEST, _LATEST = 10.0, 600.0  # seconds between two lines


class Outage:
    """The time from the first failure to the next success."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._tell_at = 0.0
        self._silence = _SOONEST

    def note(self, error: Exception) -> bool:
        """It failed; whether for the first time."""
        now = time.monotonic()
        first = self._since is None
        if first:
            self._since, self._silence = now, _SOONEST
        elif now < self._tell_at:
            return False
        what = f"{type(error).__name__}: {error}{hint(error)}"
        if first:
            logger.error("The database failed (%s); trying again until it is back", what)
        else:
            logger.error(
                "The database has failed for %.0f s (%s); still trying", now - (self._since or now), what
            )
            self._silence = min(_LATEST, self._silence * 2)
        self._tell_at = now + self._silence
        return first

    def over(self) -> bool:
        """It succeeded; whether that ends an outage."""
        if self._since is None:
            return False
        logger.warning("The database is back after %.0f s", time.monotonic() - self._since)
        self._since = None
        return True

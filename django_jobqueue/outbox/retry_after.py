"""The header by which a receiver says when to come back. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 86400.0
"""Seconds that a receiver can put off a delivery, at most."""


def seconds(value: str | None, now: datetime) -> float:
    """What ``Retry-After`` asks for, in seconds from ``now``, 0 to ``LONGEST``; 0 for what cannot be read."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return min(LONGEST, float(text[:10]))
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    if when.tzinfo is None:  # "-0000": UTC, of an unknown place
        when = when.replace(tzinfo=UTC)
    return min(LONGEST, max(0.0, (when - now).total_seconds()))

"""What schemathesis cannot know of a format: the times that the protocol takes, and cursors of its list."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime

import schemathesis
from hypothesis import strategies as st

_FIRST, _LAST = datetime(1970, 1, 2), datetime(2199, 12, 30)


def _time(instant: datetime) -> str:
    return instant.replace(tzinfo=UTC).isoformat()


def _cursor(position: int) -> str:
    return b64encode(f"p={position}".encode()).decode()


schemathesis.openapi.format("date-time", st.datetimes(_FIRST, _LAST).map(_time))
schemathesis.openapi.format("cursor", st.integers(0, 2**63 - 1).map(_cursor))

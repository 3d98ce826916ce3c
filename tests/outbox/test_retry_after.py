from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis.strategies import from_regex, text

from django_jobqueue.outbox.retry_after import LONGEST, seconds

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("99999999999999999999999", LONGEST),
        ("Fri, 01 May 2026 12:10:00 GMT", 600),
        ("Friday, 01-May-26 12:10:00 GMT", 600),
        ("Fri, 01 May 2026 14:10:00 +0200", 600),
        ("Fri, 01 May 2026 12:10:00 -0000", 600),
        ("Fri, 01 May 2026 11:00:00 GMT", 0),
        ("Fri, 01 May 2099 12:00:00 GMT", LONGEST),
        ("-5", 0),
        ("1.5", 0),
        ("٣", 0),
        ("soon", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_what_retry_after_asks_for(value: str | None, expected: float):
    assert seconds(value, NOW) == expected


@given(text() | from_regex(r"\A\w{3}, \d+ (Jan|May|Dec) \d+ \d+:\d+:\d+ ([+-]\d+|GMT)\Z"))
def test_whatever_a_receiver_sends_is_a_time_within_the_bounds(value: str):
    assert 0 <= seconds(value, NOW) <= LONGEST

"""The ranges of what a job may hold, the same on every database and checked before any is asked.

Each function returns the value to store or raises ``InvalidJob`` naming the field.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from django_jobqueue.exceptions import InvalidJob

TYPE_LENGTH = 200
QUEUE_LENGTH = 64
KEY_LENGTH = 255
WORKER_ID_LENGTH = 200
PRINCIPAL_LENGTH = 200
REQUEST_ID_LENGTH = 100
ERROR_LENGTH = 8192
MAX_RETRIES = 1000
MAX_DEPTH = 32
MAX_ID = 2**63 - 1
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_DOUBTFUL = re.compile(r"\\u0000|[0-9]{16}|[0-9][eE]")  # NUL, integers past 64 bits, floats with exponents
_EXPONENT = re.compile(r"[0-9]e\+")  # of a large float, which is stored without one
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
META_BYTES = 8192

_LARGE_FLOAT = re.compile(r'"\\u0000(-?\d+\.0)\\u0000"')


def check_text(field: str, value: Any, length: int) -> str:
    """A text of 1 to ``length`` characters, not blank, without NUL or lone surrogates."""
    if not isinstance(value, str):
        raise InvalidJob(field, f"must be a text, not {_kind(value)}.")
    if not value.strip():
        raise InvalidJob(field, "must not be blank.")
    if len(value) > length:
        raise InvalidJob(field, f"has {len(value)} characters; at most {length} are allowed.")
    _check_characters(field, value)
    return value


def check_integer(field: str, value: Any, low: int, high: int) -> int:
    """An integer from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidJob(field, f"must be an integer, not {_kind(value)}.")
    if not low <= value <= high:
        raise InvalidJob(field, f"must be from {low} to {high}.")
    return value


def check_seconds(field: str, value: Any, low: float, high: float) -> float:
    """A number of seconds from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # which is NaN
        raise InvalidJob(field, f"must be a number of seconds, not {_kind(value)}.")
    if not low <= value <= high:
        raise InvalidJob(field, f"must be from {low:g} to {high:g} seconds.")
    return float(value)


def check_time(field: str, value: Any) -> datetime:
    """A point in time from 1970 to 2199, in UTC; a naive one is read in the project's ``TIME_ZONE``."""
    if not isinstance(value, datetime):
        raise InvalidJob(field, f"must be a datetime, not {_kind(value)}.")
    try:
        if value.tzinfo is None:
            value = timezone.make_aware(value, timezone.get_default_timezone())
        instant: datetime = value.astimezone(UTC)
    except (OverflowError, ValueError):
        raise InvalidJob(field, "is not a date that can be stored.") from None
    if not EARLIEST <= instant < LATEST:
        raise InvalidJob(field, "must be from the year 1970 to the year 2199.")
    return instant


def check_delay(field: str, value: timedelta) -> float:
    """A wait from now, in seconds, that ends before 2200."""
    return check_seconds(field, value.total_seconds(), 0, 100 * 366 * 86400)


def dump_object(field: str, value: Any, max_bytes: int) -> str:
    """A JSON object as compact text; see ``dump_json``."""
    if not isinstance(value, Mapping):
        raise InvalidJob(field, f"must be an object (a dict), not {_kind(value)}.")
    return dump_json(field, value, max_bytes)


def dump_json(field: str, value: Any, max_bytes: int) -> str:
    """``value`` as compact JSON text of at most ``max_bytes`` bytes of UTF-8.

    What is read back equals what was given on every database, so everything else is refused with the path of
    the value at fault: NaN and infinities, integers past 64 bits, NUL and lone surrogates, keys that are not
    text, more than 32 levels, and what is no JSON at all. What is too large is refused before it is walked.
    """
    text = _quick_text(value)
    if text is not None:
        if not _EXPONENT.search(text):
            _check_size(field, text, max_bytes)
        if _is_beyond_doubt(value, text):
            return text
    text = _LARGE_FLOAT.sub(r"\1", _encode(_Walk(field, max_bytes).plain(field, value, 1)))
    _check_size(field, text, max_bytes)
    return text


def _check_size(field: str, text: str, max_bytes: int) -> None:
    size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    if size > max_bytes:
        raise InvalidJob(field, f"has {size} bytes; at most {max_bytes} are allowed.")


def shorten(text: str, length: int = ERROR_LENGTH) -> str:
    """``text`` as every database can hold it: at most ``length`` characters, the middle left out, no NUL."""
    text = text.replace("\0", "\\x00").encode(errors="backslashreplace").decode()
    if len(text) <= length:
        return text
    gap = " […] "
    head = (length - len(gap)) // 2
    return text[:head] + gap + text[-(length - len(gap) - head) :]


def _quick_text(value: Any) -> str | None:
    """``value`` as JSON text, in whatever way the encoder writes it; ``None`` where it does not."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError):
        return None


def _is_beyond_doubt(value: Any, text: str) -> bool:
    """Whether ``text`` is ``value`` as it may be stored: a flat dict of texts and small numbers, mostly.

    The rest is for ``_Walk``, which looks at everything and knows the path of what is wrong.
    """
    if type(value) is not dict:
        return False
    for key in value:
        if type(key) is not str:
            return False
    if _DOUBTFUL.search(text) or text.count("{") != 1 or text.count("[") >= MAX_DEPTH:
        return False
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


class _Walk:
    """A look at all of a value, which ends when what it has seen cannot fit any more."""

    def __init__(self, field: str, max_bytes: int) -> None:
        self.field = field
        self.max_bytes = max_bytes
        self.left = max_bytes + 1  # the last comma or brace is counted with its value

    def plain(self, path: str, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            value = str.__str__(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            value = int(value)
        kind = type(value)
        self._spend(
            2 + len(value) if kind is str else 2
        )  # quotes, or a digit with what parts it from the next
        if kind is str:
            _check_characters(path, value)
            return value
        if value is None or kind is bool:
            return value
        if kind is int:
            if not -(2**63) <= value < 2**63:
                raise InvalidJob(path, "is an integer past 64 bits; send it as a text.")
            return value
        if kind is float:
            if not math.isfinite(value):
                raise InvalidJob(path, f"{value} is not JSON.")
            # One database keeps no exponents and would read 1e16 back as an integer. Written out, with its ".0",
            # it stays the same float on all. The NULs, which no text may hold, mark it for ``dump_json``.
            return f"\0{value:.1f}\0" if abs(value) >= 1e16 else value
        if depth > MAX_DEPTH:
            raise InvalidJob(path, f"is nested deeper than {MAX_DEPTH} levels.")
        if isinstance(value, Mapping):
            plain = {}
            for key, item in value.items():
                if not isinstance(key, str):
                    raise InvalidJob(path, f"has a key that is {_kind(key)}; keys must be texts.")
                self._spend(2 + len(key))
                _check_characters(path, key)
                plain[str.__str__(key)] = self.plain(f"{path}.{key[:50]}", item, depth + 1)
            return plain
        if kind in (list, tuple):
            return [self.plain(f"{path}[{index}]", item, depth + 1) for index, item in enumerate(value)]
        raise InvalidJob(path, f"{_kind(value)} is not JSON.")

    def _spend(self, characters: int) -> None:
        self.left -= characters
        if self.left < 0:
            most = self.max_bytes
            raise InvalidJob(self.field, f"has more than {most} bytes; at most {most} are allowed.")


def _check_characters(field: str, value: str) -> None:
    if "\0" in value:
        raise InvalidJob(field, "must not contain the NUL character.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidJob(field, "must not contain lone surrogates.") from None


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__

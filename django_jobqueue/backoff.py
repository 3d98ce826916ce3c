"""How long to wait before a retry. Pure: a retry's number in, seconds out.

A backoff is any callable that takes the number of the retry (1 for the first) and returns seconds. The three
made here can also be stored with a single job (``to_meta``, ``from_meta``). Every delay is capped at
``MAX_DELAY``, whatever the number.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from django.utils.module_loading import import_string

Backoff = Callable[[int], float]

MAX_DELAY = 30 * 86400.0
"""Longest delay before a retry: 30 days, in seconds."""

_MAX_EXPONENT = 64  # 2**64 seconds is past every cap; a larger exponent only risks an overflow


@dataclass(frozen=True, slots=True)
class _Constant:
    seconds: float
    kind: ClassVar[str] = "constant"

    def __call__(self, retry: int) -> float:
        return self.seconds


@dataclass(frozen=True, slots=True)
class _Linear:
    base: float
    cap: float
    kind: ClassVar[str] = "linear"

    def __call__(self, retry: int) -> float:
        return min(self.cap, self.base * retry)


@dataclass(frozen=True, slots=True)
class _Exponential:
    base: float
    cap: float
    jitter: float
    kind: ClassVar[str] = "exponential"

    def __call__(self, retry: int) -> float:
        delay = min(self.cap, self.base * 2.0 ** min(retry - 1, _MAX_EXPONENT))
        return delay * (1 - self.jitter * random.random())


_KINDS: dict[str, type[Any]] = {kind.kind: kind for kind in (_Constant, _Linear, _Exponential)}


def _seconds(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name}: {value!r} is not a number of seconds.")
    if not 0 <= value <= MAX_DELAY:
        raise ValueError(f"{name}: {value!r} is not between 0 and {MAX_DELAY:.0f} seconds.")
    return float(value)


def constant(seconds: float) -> Backoff:
    """The same wait before every retry."""
    return _Constant(_seconds("seconds", seconds))


def linear(base: float = 10.0, cap: float = 3600.0) -> Backoff:
    """``base`` seconds before the first retry, twice that before the second, and so on up to ``cap``."""
    return _Linear(_seconds("base", base), _seconds("cap", cap))


def exponential(base: float = 2.0, cap: float = 3600.0, jitter: float = 0.1) -> Backoff:
    """``base`` seconds, doubled at each retry up to ``cap``, less a random part up to ``jitter`` (0 to 1)."""
    if isinstance(jitter, bool) or not isinstance(jitter, int | float) or not 0 <= jitter <= 1:
        raise ValueError(f"jitter: {jitter!r} is not between 0 and 1.")
    return _Exponential(_seconds("base", base), _seconds("cap", cap), float(jitter))


def resolve(backoff: Backoff | str | None) -> Backoff | None:
    """A callable or its dotted path as a callable; ``None`` stays ``None`` (retry at once)."""
    if isinstance(backoff, str):
        backoff = import_string(backoff)
    if backoff is not None and not callable(backoff):
        raise ValueError(f"backoff: {backoff!r} is neither a callable nor the dotted path of one.")
    return backoff


def to_meta(backoff: Backoff | str) -> dict[str, Any] | str:
    """A form of ``backoff`` that JSON holds: one of the three kinds here, or a dotted path.

    Raises ``ValueError`` for another callable: it cannot be stored with a job.
    """
    if isinstance(backoff, str):
        resolve(backoff)
        return backoff
    if isinstance(backoff, _Constant | _Linear | _Exponential):
        return {"kind": backoff.kind, **asdict(backoff)}
    raise ValueError(
        "backoff: a job can store exponential(...), linear(...), constant(...) or a dotted path; "
        "give other callables to the handler."
    )


def from_meta(stored: Mapping[str, Any] | str) -> Backoff | None:
    """The inverse of ``to_meta``."""
    if isinstance(stored, str):
        return resolve(stored)
    fields = dict(stored)
    made: Backoff = _KINDS[fields.pop("kind")](**fields)
    return made


def delay_before(retry: int, backoff: Backoff | None) -> float:
    """Seconds before retry number ``retry``: what ``backoff`` says, kept within 0 and ``MAX_DELAY``."""
    if backoff is None:
        return 0.0
    seconds = float(backoff(retry))
    return MAX_DELAY if math.isnan(seconds) else min(max(seconds, 0.0), MAX_DELAY)

"""Refusing names that the protocol does not have: a misspelt field that is ignored does harm in silence."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from rest_framework.exceptions import ValidationError

from django_jobqueue.jobs import limits

MOST_NAMED = 10
"""Faults of one kind that a refusal names: it must cost less than the request that it answers."""


def refuse_unknown(given: Iterable[str], known: Collection[str]) -> None:
    """Raises ``ValidationError`` for the first names that are not ``known``, saying what may have been meant."""
    problems: dict[str, list[str]] = {}
    for name in given:
        if name not in known:
            if len(problems) == MOST_NAMED:
                break
            close = difflib.get_close_matches(name[:100], known, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known) or 'none'}."
            problems[limits.shorten(name, 100)] = [f"is unknown here. {hint}"]
    if problems:
        raise ValidationError(problems)

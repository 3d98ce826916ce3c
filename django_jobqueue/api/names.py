"""Refusing names that the protocol does not have: a misspelt field that is ignored does harm in silence."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from rest_framework.exceptions import ValidationError

from django_jobqueue.jobs import limits


def refuse_unknown(given: Iterable[str], known: Collection[str]) -> None:
    """Raises ``ValidationError`` for names that are not ``known``, saying what may have been meant."""
    problems = {}
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name[:100], known, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known) or 'none'}."
            problems[limits.shorten(name, 100)] = [f"is unknown here. {hint}"]
    if problems:
        raise ValidationError(problems)

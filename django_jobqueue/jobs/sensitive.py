"""Redaction of what a handler calls sensitive: entries by name in JSON, and their values wherever a text has them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

from django_jobqueue import registry
from django_jobqueue.conf import settings

MASK = "[redacted]"

_SHORTEST_VALUE = 4
"""Shorter values are looked for in quotes only: a plain "1" or "no" would be found everywhere."""


def sensitive_names(type: str) -> Collection[str]:
    """The names of entries that jobs of ``type`` keep to themselves: the handler's and the project's."""
    handler = registry.get(type)
    names: Collection[str] = (settings().SENSITIVE_FIELDS or {}).get(type, ())
    if handler is None or not handler.sensitive:
        return names
    return {*names, *handler.sensitive}


def redact_json(value: Any, names: Collection[str]) -> Any:
    """``value`` with the entries of these names masked, however deep they are."""
    if not names:
        return value
    if isinstance(value, Mapping):
        return {
            name: MASK if name in names and entry is not None else redact_json(entry, names)
            for name, entry in value.items()
        }
    if isinstance(value, list):
        return [redact_json(entry, names) for entry in value]
    return value


def redact_text(text: str, payload: Any, names: Collection[str]) -> str:
    """``text`` with every value masked that ``payload`` has under these names (an error may repeat them)."""
    if not names or not text:
        return text
    forms = {form for value in set(_values(payload, names, inside=False)) for form in _forms(value)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, MASK)
    return text


def _forms(value: str) -> Iterator[str]:
    """How a text may show ``value``: as it is, as Python, JSON or bytes write it, and in a URL."""
    if len(value) < _SHORTEST_VALUE:
        yield from (f"'{value}'", f'"{value}"')
        return
    yield value
    yield from (repr(value)[1:-1], ascii(value)[1:-1], repr(value.encode())[2:-1])
    yield from (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    yield from (quote(value), quote(value, safe=""), quote_plus(value))
    yield escape(value)


def _values(value: Any, names: Collection[str], *, inside: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _values(entry, names, inside=inside or name in names)
    elif isinstance(value, list):
        for entry in value:
            yield from _values(entry, names, inside=inside)
    elif inside and not isinstance(value, bool | None) and (text := str(value)):
        yield text

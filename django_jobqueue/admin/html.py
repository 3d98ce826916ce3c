"""Small pieces of HTML. Whatever was stored is escaped here; nothing else in the admin marks text as safe."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def duration(span: timedelta) -> str:
    """The length of ``span``, whatever its sign, in its largest whole unit: ``12 s``, ``5 min``, ``40 d``."""
    seconds = int(abs(span.total_seconds()))
    for size, name in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {name}"
    return "0 s"


def distance(instant: datetime, now: datetime) -> str:
    """``in 5 min`` or ``5 min ago``."""
    return f"in {duration(instant - now)}" if instant > now else f"{duration(now - instant)} ago"


def absolute(instant: datetime) -> str:
    """``instant`` to the second, in the time zone of the request."""
    return timezone.localtime(instant).strftime("%Y-%m-%d %H:%M:%S %Z")


def moment(text: str, instant: datetime) -> SafeString:
    """``text`` that tells the exact time when pointed at."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', instant.isoformat(), absolute(instant), text
    )


def badge(kind: str, text: str) -> SafeString:
    """A pill in the colour of ``kind``, a status or ``stale``."""
    return format_html('<span class="jobqueue-badge jobqueue-{}">{}</span>', kind, text)


def clipped(text: str) -> SafeString:
    """``text`` on one line of bounded width, whole when pointed at; empty stays empty."""
    if not text:
        return SafeString()
    return format_html('<span class="jobqueue-clip" title="{0}">{0}</span>', text)


def two_lines(first: SafeString, second: SafeString) -> SafeString:
    """``first``, and ``second`` smaller below it."""
    return format_html('{}<span class="jobqueue-second">{}</span>', first, second)


def datalist(name: str, values: Iterable[str]) -> SafeString:
    """Suggestions for an input whose ``list`` is ``name``."""
    options = format_html_join("", '<option value="{}"></option>', ((value,) for value in values))
    return format_html('<datalist id="{}">{}</datalist>', name, options)

"""Horizontal bars as SVG, drawn from measured values; on a card of its own, so that it reads on any page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.harness.results import number

_WIDTH, _LABELS, _RIGHT = 920, 280, 90
_TOP, _BAR, _GAP, _BOTTOM = 78, 13, 11, 20
_INK, _PALE, _FRAME = "#1f2a37", "#5b6b7f", "#c3ccd8"
_OWN, _OTHER = ("#0f766e", "#5eb3ab"), ("#64748b", "#b4bfcc")


@dataclass(frozen=True, slots=True)
class Row:
    """One label with a value for each series; ``own`` rows are coloured."""

    label: str
    values: Sequence[float]
    own: bool = False


def bars(
    title: str, series: Sequence[str], rows: Sequence[Row], *, unit: str, logarithmic: bool = False
) -> str:
    """An SVG with a group of bars for each row, in the order given."""
    height_of_row = len(series) * _BAR + _GAP
    height = _TOP + len(rows) * height_of_row + _BOTTOM
    values = [value for row in rows for value in row.values if value > 0]
    low, high = min(values), max(values)
    scale = _logarithmic(low, high) if logarithmic else _linear(high)
    described = "; ".join(
        f"{row.label}: {', '.join(f'{number(value)} {unit}' for value in row.values)}" for row in rows
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="title description" '
        'font-family="system-ui, -apple-system, \'Segoe UI\', sans-serif" font-size="13">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="description">{escape(described)}</desc>',
        f'<rect x="1" y="1" width="{_WIDTH - 2}" height="{height - 2}" rx="10" fill="#ffffff" stroke="{_FRAME}"/>',
        f'<text x="24" y="34" font-size="16" font-weight="600" fill="{_INK}">{escape(title)}</text>',
        _legend(series, "logarithmic scale" if logarithmic else ""),
    ]
    for index, row in enumerate(rows):
        parts.append(_group(row, _TOP + index * height_of_row, scale))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(series: Sequence[str], note: str) -> str:
    words = [*series, note] if note else list(series)
    parts, x = [], 24.0
    for index, word in enumerate(words):
        if index < len(series):
            parts.append(f'<rect x="{x:.0f}" y="49" width="12" height="12" rx="2" fill="{_OTHER[index]}"/>')
            x += 18
        parts.append(f'<text x="{x:.0f}" y="60" fill="{_PALE}">{escape(word)}</text>')
        x += 7.2 * len(word) + 22
    return "".join(parts)


def _group(row: Row, top: float, scale: _Scale) -> str:
    colours = _OWN if row.own else _OTHER
    weight = "600" if row.own else "400"
    middle = top + len(row.values) * _BAR / 2 + 4.5
    parts = [
        f'<text x="{_LABELS - 12}" y="{middle:.1f}" text-anchor="end" fill="{_INK}" font-weight="{weight}">'
        f"{escape(row.label)}</text>"
    ]
    for index, value in enumerate(row.values):
        y, length = top + index * _BAR, max(1.0, scale(value))
        parts.append(
            f'<rect x="{_LABELS}" y="{y}" width="{length:.1f}" height="{_BAR - 2}" rx="2" fill="{colours[index]}"/>'
            f'<text x="{_LABELS + length + 6:.1f}" y="{y + 9.5}" font-size="11" fill="{_PALE}">{number(value)}</text>'
        )
    return "".join(parts)


class _Scale:
    """The length of a bar in pixels."""

    def __init__(self, low: float, high: float, *, logarithmic: bool) -> None:
        self._map = math.log10 if logarithmic else float
        self._low = self._map(low)
        self._span = (self._map(high) - self._low) or 1.0

    def __call__(self, value: float) -> float:
        share = (self._map(max(value, 1e-9)) - self._low) / self._span
        return (_WIDTH - _LABELS - _RIGHT) * max(0.0, share)


def _linear(high: float) -> _Scale:
    return _Scale(0.0, high, logarithmic=False)


def _logarithmic(low: float, high: float) -> _Scale:
    return _Scale(low / 2, high, logarithmic=True)

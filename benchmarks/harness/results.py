"""Measured values: samples by case, medians, ratios within the run, a table to read and JSON to keep."""

from __future__ import annotations

import json
import os
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.harness import machine
from benchmarks.harness.database import Database
from benchmarks.harness.options import Options

BUSY = 5
"""Percent of the machine that may be used by something else before the numbers are of no use."""


@dataclass(slots=True)
class Case:
    """One thing that was measured, some times. ``against`` names the case that its ratio is taken to."""

    name: str
    unit: str
    against: str | None = None
    samples: list[float] = field(default_factory=list)
    cut_off: bool = False

    @property
    def median(self) -> float:
        """The middle of the samples."""
        return statistics.median(self.samples)


class Results:
    """The values of one run of one benchmark."""

    def __init__(self, options: Options, database: Database) -> None:
        self.options = options
        self._about: dict[str, Any] = {
            "benchmark": options.benchmark,
            "database": options.database,
            "command": options.command,
            "quick": options.quick,
            "date": time.strftime("%Y-%m-%d"),
            "busy_before": round(machine.busy_percent(0.1 if options.quick else 2.0)),
            "machine": machine.machine(),
            "versions": machine.versions(),
            "server": database.server.describe(database.name),
        }
        self._cases: dict[str, Case] = {}

    def add(
        self, case: str, value: float, unit: str, *, against: str | None = None, cut_off: bool = False
    ) -> None:
        """One more sample of a case."""
        known = self._cases.setdefault(case, Case(case, unit, against))
        known.samples.append(value)
        known.cut_off |= cut_off

    def median(self, case: str) -> float:
        """The middle of what a case has so far."""
        return self._cases[case].median

    def finish(self) -> Path:
        """Print the table and write the JSON; returns its path."""
        rows = [self._row(case) for case in self._cases.values()]
        print(f"\n{self._about['benchmark']} on {self._about['server']['title']}")
        if self._about["busy_before"] > BUSY:
            print(f"Something else used {self._about['busy_before']} % of the machine: of no use.")
        width = max(len(case.name) for case in self._cases.values())
        for case, row in zip(self._cases.values(), rows, strict=True):
            ratio = f"x{row['ratio']:.2f} of {case.against}" if "ratio" in row else ""
            low, high = number(min(case.samples)), number(max(case.samples))
            spread = f"({low} to {high}, {len(case.samples)} runs)" if len(case.samples) > 1 else ""
            mark = " cut off" if case.cut_off else ""
            print(
                f"  {case.name:<{width}}  {number(case.median):>9} {case.unit}{mark} {spread} {ratio}".rstrip()
            )
        name = (
            f"{self.options.benchmark}-{self.options.database}{'-quick' if self.options.quick else ''}.json"
        )
        return write(self.options.results, name, {**self._about, "cases": rows})

    def _row(self, case: Case) -> dict[str, Any]:
        row: dict[str, Any] = {
            "case": case.name,
            "unit": case.unit,
            "median": case.median,
            "samples": case.samples,
            "cut_off": case.cut_off,
        }
        base = self._cases.get(case.against or "")
        if base is not None and base.median:
            row |= {"against": case.against, "ratio": case.median / base.median}
        return row


def write(folder: Path, name: str, content: dict[str, Any]) -> Path:
    """Write a file of results; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    print(f"Written to {os.path.relpath(path)}")
    return path


def number(value: float) -> str:
    """Three significant digits, as people read them; small whole numbers as they are."""
    if abs(value) < 1000 and value == round(value):
        return f"{value:.0f}"
    if abs(value) >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def percentile(values: list[float], share: float) -> float:
    """The value that ``share`` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]

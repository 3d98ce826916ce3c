"""Publish what was measured last: the JSON into ``results/published``, the tables and charts into the docs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.chart import Row, bars
from benchmarks.harness.options import FOLDER
from benchmarks.harness.processes import ROOT
from benchmarks.harness.results import number

PUBLISHED = FOLDER / "published"
PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images"
BENCHMARKS = ("drain", "enqueue", "latency", "flat", "flat-10000000", "horizon", "memory", "http")
DATABASES = ("postgresql", "mysql", "sqlite")

Result = dict[str, Any]

_BLOCK = re.compile(r"(<!-- benchmarks:([a-z0-9-]+) -->\n).*?(<!-- /benchmarks -->)", re.DOTALL)
_NOT_YET = "Not measured yet."


def publish() -> None:
    """Copy the latest results, but for those of quick runs, to where they are kept."""
    PUBLISHED.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        if not json.loads(path.read_text())["quick"]:
            shutil.copy(path, PUBLISHED)


def published() -> dict[str, Result]:
    """What is kept, by the name of its file."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(PUBLISHED.glob("*.json"))}


def rendered(page: str, results: dict[str, Result]) -> str:
    """The page with the blocks between its markers made anew."""

    def block(match: re.Match[str]) -> str:
        make = _BLOCKS.get(match[2], _own)
        return f"{match[1]}\n{make(match[2], results)}\n\n{match[3]}"

    return _BLOCK.sub(block, page)


def charts(results: dict[str, Result]) -> dict[str, str]:
    """The SVG files of the page, by name."""
    peers = results.get("peers", {}).get("peers", {})
    drains = ("drain, 1 process", "drain, 2 processes")
    latencies = ("latency p50", "latency p99")
    drawn = {
        "benchmarks-drain.svg": _chart(
            peers, "No-op jobs finished in a second", drains, ("1 process", "2 processes"), "jobs/s"
        ),
        "benchmarks-latency.svg": _chart(
            peers,
            "Milliseconds from enqueue to the handler",
            latencies,
            ("p50", "p99"),
            "ms",
            logarithmic=True,
        ),
    }
    return {name: svg for name, svg in drawn.items() if svg}


def _chart(
    peers: dict[str, Result],
    title: str,
    measures: tuple[str, ...],
    series: tuple[str, ...],
    unit: str,
    *,
    logarithmic: bool = False,
) -> str:
    rows = [
        Row(
            peer["title"],
            [peer["measures"][one]["median"] for one in measures],
            own=name.startswith("jobqueue"),
        )
        for name, peer in peers.items()
        if all(one in peer["measures"] for one in measures)
    ]
    rows.sort(key=lambda row: row.values[0] if logarithmic else -row.values[0])
    return bars(title, series, rows, unit=unit, logarithmic=logarithmic) if rows else ""


def _own(benchmark: str, results: dict[str, Result]) -> str:
    """A benchmark's cases as rows, the databases as columns."""
    found = [result for name in DATABASES if (result := results.get(f"{benchmark}-{name}"))]
    if not found:
        return f"{_NOT_YET} Run `python -m benchmarks.{benchmark}`."
    units = {case["case"]: case["unit"] for result in found for case in result["cases"]}
    bases = {case["against"] for result in found for case in result["cases"] if "against" in case}
    letters = dict(zip([name for name in units if name in bases], "ABCDEFGH", strict=False))
    by_name = [{case["case"]: case for case in result["cases"]} for result in found]
    rows = [
        [
            f"{name} **({letters[name]})**" if name in letters else name,
            unit,
            *(_cell(cases.get(name), letters) for cases in by_name),
        ]
        for name, unit in units.items()
    ]
    table = _table(["", "unit", *(result["server"]["title"] for result in found)], rows)
    return f"{table}\n\n{_legend(letters)}{_origin(found)}"


def _cell(case: Result | None, letters: dict[str, str]) -> str:
    if case is None:
        return ""
    mark = " *" if case["cut_off"] else ""
    ratio = f" = {case['ratio']:.2f} {letters[case['against']]}" if "ratio" in case else ""
    return f"{_spread(case)}{ratio}{mark}"


def _spread(values: Result) -> str:
    low, high = number(min(values["samples"])), number(max(values["samples"]))
    return number(values["median"]) + (f" ({low} to {high})" if low != high else "")


def _legend(letters: dict[str, str]) -> str:
    if not letters:
        return ""
    return f"{', '.join(letters.values())}: ratios to the rows of these letters, within the run. "


def _peers(block: str, results: dict[str, Result]) -> str:
    """The peers as rows, the fastest drain first."""
    result = results.get("peers")
    if result is None:
        return f"{_NOT_YET} Run `python -m benchmarks.peers`."
    columns: dict[str, str] = {
        "drain, 1 process": "drain, 1 process, jobs/s",
        "drain, 2 processes": "2 processes, jobs/s",
        "enqueue, one by one": "enqueue one by one, jobs/s",
        "enqueue, in bulk": "10,000 at once, jobs/s",
        "latency p50": "latency p50, ms",
        "latency p99": "p99, ms",
        "memory, 1 process": "memory, MiB",
    }
    raw = "raw: claim 100, complete 100"
    rows = []
    for peer in sorted(result["peers"].values(), key=lambda peer: -_median(peer, "drain, 1 process")):
        cells = [_peer_cell(peer, measure, raw) for measure in columns]
        rows.append([f"{peer['title']}<br>{peer['setting']}", peer["store"], peer["history"], *cells])
    table = _table(["queue", "store", "finished jobs", *columns.values()], rows)
    images = [f"![{title}](images/{name})" for name, title in _IMAGES.items() if name in charts(results)]
    limits = [peer["measures"][raw]["median"] for peer in result["peers"].values()]
    yardstick = (
        f"The drain's ratio is to the raw driver, claim 100 and complete 100, measured before and after each queue "
        f"({number(min(limits))} to {number(max(limits))} jobs/s). "
    )
    return "\n\n".join([*images, table, yardstick + _origin([result])])


def _peer_cell(peer: Result, measure: str, raw: str) -> str:
    value = peer["measures"].get(measure)
    if value is None:
        return ""
    mark = " *" if value["cut_off"] else ""
    ratio = f" = {value['median'] / _median(peer, raw):.2f}" if measure.startswith("drain") else ""
    return f"{_spread(value)}{ratio}{mark}"


def _median(peer: Result, measure: str) -> float:
    return float(peer["measures"].get(measure, {"median": 0.0})["median"])


def _machine(block: str, results: dict[str, Result]) -> str:
    """What all results have in common, and what each server is set to."""
    if not results:
        return _NOT_YET
    any_result = next(iter(results.values()))
    versions = {name: result["versions"] for name, result in results.items()}
    shown: dict[str, str] = dict(any_result["machine"])
    for key in ("Python", "django-jobqueue", "Django", "psycopg", "mysqlclient"):
        found = {version[key] for version in versions.values() if key in version}
        shown[key] = ", ".join(sorted(found))
    for result in results.values():
        server = dict(result["server"])
        title = server.pop("title")
        shown[title] = ", ".join(f"{name} {value}" for name, value in server.items())
    return _table(["", ""], [[name, value] for name, value in shown.items() if value])


def _origin(found: list[Result]) -> str:
    """How the numbers came about."""
    commands = ", ".join(f"`{result['command']}`" for result in found)
    dates = ", ".join(sorted({result["date"] for result in found}))
    busy = max(result["busy_before"] for result in found)
    stars = any(_cut_off(result) for result in found)
    note = " A star: cut off by the time limit, the rate is that until then." if stars else ""
    return f"Medians (lowest to highest).{note} {commands}; {dates}; others used {busy} % of the machine just before."


def _cut_off(result: Result) -> bool:
    measures = (value for peer in result.get("peers", {}).values() for value in peer["measures"].values())
    return any(value["cut_off"] for value in [*result.get("cases", []), *measures])


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(_lines(head, rows))


def _lines(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


_IMAGES = {
    "benchmarks-drain.svg": "Jobs finished in a second, by queue",
    "benchmarks-latency.svg": "Time from enqueue to handler, by queue",
}
_BLOCKS: dict[str, Callable[[str, dict[str, Result]], str]] = {"peers": _peers, "machine": _machine}


def main() -> None:
    """Publish and write."""
    publish()
    results = published()
    PAGE.write_text(rendered(PAGE.read_text(), results))
    for name, svg in charts(results).items():
        (IMAGES / name).write_text(svg)
    print(f"{PAGE.relative_to(ROOT)}: {len(results)} results")


if __name__ == "__main__":
    main()

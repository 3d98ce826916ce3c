from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from benchmarks import report
from benchmarks.chart import Row, bars
from benchmarks.harness.results import number, percentile

ORIGIN = {
    "date": "2026-05-04",
    "busy_before": 1,
    "versions": {"Python": "3.13.0"},
    "machine": {"memory": "1 GiB"},
}


def result(benchmark: str, title: str, cases: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        **ORIGIN,
        "command": f"python -m benchmarks.{benchmark}",
        "server": {"title": title},
        "cases": cases,
    }


def case(name: str, *samples: float, **more: Any) -> dict[str, Any]:
    row = {"case": name, "unit": "jobs/s", "samples": list(samples), "median": samples[0], "cut_off": False}
    return {**row, **more}


def peer(title: str, rate: float, **more: Any) -> dict[str, Any]:
    def measure(value: float) -> dict[str, Any]:
        return {"unit": "jobs/s", "samples": [value], "median": value, "cut_off": False}

    measures = {
        "drain, 1 process": rate,
        "drain, 2 processes": 2 * rate,
        "raw: claim 100, complete 100": 50_000,
    }
    values = {name: measure(value) for name, value in {**measures, **more}.items()}
    return {"title": title, "store": "postgresql", "history": "kept", "setting": "", "measures": values}


PEERS = {
    **ORIGIN,
    "command": "python -m benchmarks.peers",
    "server": {"title": "PostgreSQL"},
    "peers": {
        "slow": peer("Slow", 100),
        "jobqueue": peer("Ours", 30_000, **{"latency p50": 2, "latency p99": 4}),
    },
}


def block(name: str, results: dict[str, Any]) -> str:
    """The text between the markers of ``name``."""
    page = f"before\n<!-- benchmarks:{name} -->\nold\n<!-- /benchmarks -->\nafter\n"
    made = report.rendered(page, results)
    assert made.startswith(f"before\n<!-- benchmarks:{name} -->\n")
    assert made.endswith("<!-- /benchmarks -->\nafter\n")
    return made


def test_a_benchmark_becomes_a_table_with_a_column_for_each_database():
    results = {
        "drain-postgresql": result(
            "drain", "PostgreSQL", [case("raw", 100), case("drain", 50, 40, 60, ratio=0.5, against="raw")]
        ),
        "drain-sqlite": result("drain", "SQLite", [case("drain", 7)]),
    }
    text = block("drain", results)
    assert "|  | unit | PostgreSQL | SQLite |" in text
    assert "| raw **(A)** | jobs/s | 100 |  |" in text
    assert "| drain | jobs/s | 50 (40 to 60) = 0.50 A | 7 |" in text


def test_a_rate_that_was_cut_off_has_a_star_and_a_note():
    text = block("drain", {"drain-mysql": result("drain", "MariaDB", [case("drain", 7, cut_off=True)])})
    assert "| drain | jobs/s | 7 * |" in text
    assert "cut off by the time limit" in text


def test_what_was_not_measured_says_how_to():
    assert "Not measured yet. Run `python -m benchmarks.flat`." in block("flat", {})


def test_peers_are_sorted_by_their_drain():
    text = block("peers", {"peers": PEERS})
    assert text.index("| Ours<br>") < text.index("| Slow<br>")
    assert "30,000 = 0.60" in text


def test_rendering_twice_changes_nothing():
    results = {"peers": PEERS, "drain-sqlite": result("drain", "SQLite", [case("drain", 7)])}
    page = (
        "<!-- benchmarks:drain -->\n<!-- /benchmarks -->\n<!-- benchmarks:peers -->\n<!-- /benchmarks -->\n"
    )
    once = report.rendered(page, results)
    assert report.rendered(once, results) == once


def test_results_of_quick_runs_are_not_published(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    monkeypatch.setattr(report, "PUBLISHED", tmp_path / "published")
    for name, quick in (("drain-sqlite", False), ("drain-sqlite-quick", True)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"quick": quick}))
    report.publish()
    assert report.published() == {"drain-sqlite": {"quick": False}}


def test_the_page_has_the_published_numbers():
    page = report.PAGE.read_text()
    assert report.rendered(page, report.published()) == page


def test_the_page_has_a_block_for_each_benchmark():
    blocks = [f"<!-- benchmarks:{name} -->" for name in (*report.BENCHMARKS, "peers", "machine")]
    assert [name for name in blocks if name not in report.PAGE.read_text()] == []


def test_the_charts_are_those_of_the_published_numbers():
    drawn = report.charts(report.published())
    kept = {path.name: path.read_text() for path in report.IMAGES.glob("benchmarks-*.svg")}
    assert kept == drawn


def test_a_chart_is_drawn_of_what_has_all_its_measures():
    drawn = report.charts({"peers": PEERS})
    assert "Slow" in drawn["benchmarks-drain.svg"]
    assert "Slow" not in drawn["benchmarks-latency.svg"]


def test_a_bar_is_as_long_as_its_value():
    svg = bars("Title & more", ["rate"], [Row("one", [100]), Row("two", [50])], unit="jobs/s")
    root = ElementTree.fromstring(svg)
    widths = [float(bar.get("width", 0)) for bar in root.iter("{http://www.w3.org/2000/svg}rect")][-2:]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.2)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (2.0, "2"), (0.254, "0.25"), (12.34, "12.3"), (123.4, "123"), (54321, "54,300")],
)
def test_numbers_have_three_digits(value: float, text: str):
    assert number(value) == text


def test_a_percentile_is_one_of_the_values():
    assert percentile([5, 1, 3, 2, 4], 0.5) == 3
    assert percentile([5, 1, 3, 2, 4], 0.99) == 5

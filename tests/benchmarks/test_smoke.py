"""Every benchmark runs, quickly and on the database of the tests, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from benchmarks.harness.servers import server_of
from benchmarks.peers.catalog import PEERS
from tests.docs.pages import ROOT

BENCHMARKS = ("drain", "enqueue", "latency", "flat", "horizon", "memory", "http")


def run(*arguments: str, **environ: str) -> str:
    """Run a benchmark's module; what it printed."""
    environ = {**os.environ, **environ}
    ended = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=150
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def measured(benchmark: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Run a benchmark of this project; its cases by name."""
    vendor = connection.vendor
    run(
        f"benchmarks.{benchmark}",
        "--quick",
        "--database",
        vendor,
        "--results",
        str(folder),
        TMPDIR=str(folder),
    )
    path = folder / f"{benchmark}-{vendor}-quick.json"
    return {case["case"]: case for case in json.loads(path.read_text())["cases"]}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_benchmark_measures_each_of_its_cases_to_the_end(benchmark: str, tmp_path: Path):
    cases = measured(benchmark, tmp_path)
    assert [case for case in cases.values() if not case["samples"] or case["cut_off"]] == []
    assert [path.name for path in tmp_path.iterdir()] == [f"{benchmark}-{connection.vendor}-quick.json"]


def test_this_queue_is_measured_like_a_peer(tmp_path: Path):
    vendor = connection.vendor
    name = {"postgresql": "jobqueue", "mysql": "jobqueue-mysql", "sqlite": "jobqueue-sqlite"}[vendor]
    printed = run("benchmarks.peers.run", name, "--quick", "--raw", vendor, TMPDIR=str(tmp_path))
    reports = [json.loads(line) for line in printed.splitlines()]
    assert {report["measure"] for report in reports[1:]} == {
        "raw: claim 100, complete 100",
        "raw: one row",
        "enqueue, one by one",
        "enqueue, in bulk",
        "drain, 1 process",
        "memory, 1 process",
        "drain, 2 processes",
        "memory, 2 processes",
        "latency p50",
        "latency p95",
        "latency p99",
    }


def test_the_databases_of_a_benchmark_are_dropped(tmp_path: Path):
    server = server_of(connection.vendor)
    name = server.own_name(f"jobqueue_benchmark_test_{os.getpid()}", tmp_path)
    server.create(name)
    server.connect(name).close()
    server.drop(name)
    if connection.vendor == "sqlite":
        assert list(tmp_path.iterdir()) == []
    else:
        with pytest.raises(Exception, match=name):
            server.connect(name)


@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_of_the_catalog_has_its_adapter(peer: str):
    module, _, class_name = PEERS[peer].partition(":")
    source = (ROOT / "benchmarks" / "peers" / "adapters" / f"{module}.py").read_text()
    assert f"\nclass {class_name}(" in source

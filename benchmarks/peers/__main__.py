"""Other queues beside this one, in one run, each between two looks at what the raw driver can do."""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TextIO

from benchmarks.harness import machine
from benchmarks.harness.options import FOLDER
from benchmarks.harness.processes import ROOT
from benchmarks.harness.results import number, write
from benchmarks.harness.servers import server_of
from benchmarks.peers.catalog import PEERS
from benchmarks.peers.environment import node_modules, python, redis_server

_NODE = ("graphile-worker", "pg-boss")
_REDIS = ("celery", "dramatiq", "rq", "huey-redis")


def measure(argv: list[str], environ: dict[str, str], log: TextIO, seconds: float) -> list[dict[str, Any]]:
    """Run one peer; what it reported. Raises ``RuntimeError`` when it failed or took too long."""
    process = subprocess.Popen(
        argv, env={**os.environ, **environ}, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"It took more than {seconds:.0f} s.") from None
    finally:
        if process.poll() is None:
            process.terminate()  # it drops its databases and ends its workers
            process.wait(30)
    if process.returncode:
        raise RuntimeError(f"It ended with exit code {process.returncode}.")
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def summary(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """What one peer is, and its samples by measure."""
    about, *samples = reports
    measures: dict[str, dict[str, Any]] = {}
    for one in samples:
        empty = {"unit": one["unit"], "samples": [], "cut_off": False}
        known = measures.setdefault(one["measure"], empty)
        known["samples"].append(one["value"])
        known["cut_off"] |= one["cut_off"]
    for known in measures.values():
        known["median"] = statistics.median(known["samples"])
    return {**about, "measures": measures}


def show(name: str, peer: dict[str, Any]) -> None:
    """The peer's medians, as lines."""
    print(f"\n{name}: {peer['title']} ({peer['store']}, history {peer['history']}, {peer['setting']})")
    for measure, value in peer["measures"].items():
        mark = " cut off" if value["cut_off"] else ""
        print(f"  {measure:<32} {number(value['median']):>9} {value['unit']}{mark}", flush=True)


def names_of(given: list[str], has_node: bool, has_redis: bool) -> list[str]:
    """The peers asked for that can be measured on this machine."""
    names = []
    for name in given or PEERS:
        if name in _NODE and not has_node:
            print(f"{name} is left out: there is no node and npm.")
        elif name in _REDIS and not has_redis:
            print(f"{name} is left out: there is no redis-server.")
        else:
            names.append(name)
    return names


def main() -> None:
    """Measure peer after peer."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="peer", help=f"which (default: all): {', '.join(PEERS)}")
    parser.add_argument("--only", default="enqueue,drain,latency", help="measures (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="times each is measured (%(default)s)")
    parser.add_argument("--seconds", type=float, default=300, help="longest time for a peer (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="only see that it works")
    given = parser.parse_args()
    if unknown := [name for name in given.peers if name not in PEERS]:
        parser.error(f"no such peer: {', '.join(unknown)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    server = server_of("postgresql")
    results: dict[str, Any] = {
        "benchmark": "peers",
        "command": " ".join(["python -m benchmarks.peers", *sys.argv[1:]]),
        "quick": given.quick,
        "date": time.strftime("%Y-%m-%d"),
        "busy_before": round(machine.busy_percent(0.1 if given.quick else 2.0)),
        "machine": machine.machine(),
        "server": server.describe(server.place.database),
        "peers": {},
        "failed": {},
    }
    program, modules = python(), node_modules()
    options = ["--only", given.only, "--rounds", str(given.rounds), *(["--quick"] if given.quick else [])]
    with redis_server() as redis, tempfile.TemporaryDirectory(prefix="jobqueue-benchmark-") as path:
        environ = {"PEER_REDIS_URL": redis or "", "PEER_NODE_MODULES": str(modules or "")}
        for name in names_of(given.peers, modules is not None, redis is not None):
            argv = [str(program), "-m", "benchmarks.peers.run", name, *options]
            with (Path(path) / f"{name}.log").open("w+") as log:
                try:
                    results["peers"][name] = summary(measure(argv, environ, log, given.seconds))
                    show(name, results["peers"][name])
                except RuntimeError as error:
                    log.seek(0)
                    results["failed"][name] = str(error)
                    print(f"\n{name} failed. {error}\n{log.read()[-3000:]}", flush=True)
    results["versions"] = _versions(program)
    write(FOLDER, f"peers{'-quick' if given.quick else ''}.json", results)


def _versions(program: Path) -> dict[str, str]:
    listed = subprocess.run(
        [program, "-m", "pip", "list", "--format=json"], check=True, capture_output=True, text=True
    )
    packages = {item["name"]: item["version"] for item in json.loads(listed.stdout)}
    return {"Python": sys.version.split()[0], **packages}


if __name__ == "__main__":
    main()

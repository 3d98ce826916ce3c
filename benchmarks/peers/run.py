"""One peer, in the peers' own environment: ``python -m benchmarks.peers.run NAME``. A line of JSON a sample."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.harness import counter
from benchmarks.harness.counter import Counter
from benchmarks.harness.drain import drain
from benchmarks.harness.processes import running
from benchmarks.harness.results import percentile
from benchmarks.harness.servers import VENDORS, Server, server_of
from benchmarks.harness.waiting import wait_for_start, wait_until
from benchmarks.peers.catalog import PEERS, peer_of
from benchmarks.peers.peer import DjangoPeer, Peer

RAW, RAW_INSERT = "raw: claim 100, complete 100", "raw: one row"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    jobs: int
    bulk: int
    limit: float
    samples: int
    seconds: float
    raw_seconds: float


FULL = Scale(jobs=10_000, bulk=10_000, limit=4.0, samples=200, seconds=10.0, raw_seconds=0.6)
QUICK = Scale(jobs=100, bulk=100, limit=2.0, samples=3, seconds=2.0, raw_seconds=0.1)


def sample(measure: str, value: float, unit: str, *, cut_off: bool = False) -> None:
    """Report a value to whoever started this process."""
    print(json.dumps({"measure": measure, "value": value, "unit": unit, "cut_off": cut_off}), flush=True)


def measure_raw(server: Server, database: str, scale: Scale) -> None:
    """The yardsticks, on the same server for every peer."""
    rate = server.raw_claims(database, batch=100, seconds=scale.raw_seconds)
    sample(RAW, rate, "jobs/s")
    sample(RAW_INSERT, server.raw_inserts(database, seconds=scale.raw_seconds), "rows/s")


def measure_drain(peer: Peer, scale: Scale, processes: int, handled: Counter, folder: Path) -> None:
    """Jobs that are queued already."""
    peer.empty()
    peer.fill(scale.jobs)
    peer.tidy()
    drained = drain(
        peer.workers(processes),
        handled,
        folder / "worker.log",
        jobs=scale.jobs,
        unfinished=peer.unfinished,
        limit=scale.limit,
        grace=peer.grace,
    )
    name = "1 process" if processes == 1 else f"{processes} processes"
    sample(f"drain, {name}", drained.rate, "jobs/s", cut_off=drained.cut_off)
    sample(f"memory, {name}", drained.usage.pss, "MiB")


def measure_enqueue(peer: Peer, scale: Scale) -> None:
    """One by one for about a second, and in bulk."""
    peer.empty()
    few = min(100, scale.bulk)
    rate = few / peer.seconds_for(few)
    count = max(few, min(scale.bulk, int(rate)))
    sample("enqueue, one by one", count / peer.seconds_for(count), "jobs/s")
    if peer.can_enqueue_many:
        peer.empty()
        start = time.perf_counter()
        peer.enqueue_many(scale.bulk)
        sample("enqueue, in bulk", scale.bulk / (time.perf_counter() - start), "jobs/s")


def measure_latency(peer: Peer, scale: Scale, handled: Counter, folder: Path) -> None:
    """From the call to the handler's start, one job at a time, for an idle worker."""
    peer.empty()
    handled.reset()
    milliseconds: list[float] = []
    with running(peer.workers(1), folder / "worker.log", grace=peer.grace) as processes:
        peer.enqueue()
        wait_for_start(handled, processes)
        time.sleep(1.0)
        end = time.monotonic() + scale.seconds
        while len(milliseconds) < scale.samples and time.monotonic() < end:
            time.sleep(random.uniform(*peer.pause))
            sent = handled.read().started + 1
            start = time.time()
            peer.enqueue()
            wait_until(partial(handled.has_reached, sent), 30, interval=0.0005)
            milliseconds.append((handled.read().latest - start) * 1000)
    for share in (0.5, 0.95, 0.99):
        sample(f"latency p{share * 100:.0f}", percentile(milliseconds, share), "ms")


def measure(peer: Peer, only: set[str], rounds: int, scale: Scale, folder: Path) -> None:
    """Everything that is asked for, between two looks at the raw limits."""
    handled = Counter(Path(os.environ[counter.VARIABLE]))
    peer.set_up()
    try:
        for _ in range(rounds):
            if "enqueue" in only:
                measure_enqueue(peer, scale)
            if "drain" in only:
                measure_drain(peer, scale, 1, handled, folder)
                measure_drain(peer, scale, 2, handled, folder)
            if "latency" in only:
                measure_latency(peer, scale, handled, folder)
    finally:
        peer.close()


def main() -> None:
    """Make a database, measure, drop it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--only", default="enqueue,drain,latency")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--raw", choices=VENDORS, default="postgresql", help="the server of the raw limits")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    scale, rounds = (QUICK, 1) if given.quick else (FULL, given.rounds)
    yardstick = server_of(given.raw)
    with tempfile.TemporaryDirectory(prefix="jobqueue-benchmark-") as path:
        folder = Path(path)
        raw = yardstick.own_name(f"jobqueue_benchmark_raw_{os.getpid()}", folder)
        os.environ |= {"PEER": given.peer, counter.VARIABLE: str(folder / "counter")}
        peer = peer_of(given.peer)
        print(
            json.dumps(
                {"title": peer.title, "store": peer.store, "history": peer.history, "setting": peer.setting}
            ),
            flush=True,
        )
        yardstick.create(raw)
        try:
            measure_raw(yardstick, raw, scale)
            _measure_in_own_database(peer, set(given.only.split(",")), rounds, scale, folder)
            measure_raw(yardstick, raw, scale)
        finally:
            yardstick.drop(raw)


def _measure_in_own_database(peer: Peer, only: set[str], rounds: int, scale: Scale, folder: Path) -> None:
    if peer.store == "redis":
        measure(peer, only, rounds, scale, folder)
        return
    server = server_of(peer.store)
    name = server.own_name(f"jobqueue_benchmark_peer_{os.getpid()}", folder)
    os.environ |= {"DATABASE_URL": server.url(name), "PEER_DATABASE": name}
    server.create(name)
    try:
        if isinstance(peer, DjangoPeer):
            import django

            os.environ["DJANGO_SETTINGS_MODULE"] = peer.settings_module
            django.setup()
        measure(peer, only, rounds, scale, folder)
    finally:
        server.drop(name)


if __name__ == "__main__":
    main()

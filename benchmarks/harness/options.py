"""The command line that all benchmarks have in common."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.harness.servers import VENDORS, given_vendor

FOLDER = Path(__file__).resolve().parents[1] / "results"


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said. ``quick`` only shows that everything works: its numbers mean nothing."""

    benchmark: str
    database: str
    quick: bool
    rounds: int
    seconds: float
    command: str
    results: Path
    more: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def timed_rounds(self) -> Iterator[int]:
        """The rounds, as long as another one like the longest so far would end in time; always one."""
        longest = 0.0
        for number in range(self.rounds):
            start = time.monotonic()
            if number and self.left() < longest:
                return
            yield number
            longest = max(longest, time.monotonic() - start)

    def left(self) -> float:
        """Seconds until the benchmark should come to its end."""
        return self.started + self.seconds - time.monotonic()


def read_options(
    benchmark: str,
    description: str | None,
    *,
    rounds: int | None,
    seconds: float,
    arguments: list[str] | None = None,
    **more: dict[str, Any],
) -> Options:
    """Read the command line. ``more`` are further options: name to the keywords of ``add_argument``.

    A benchmark whose ``rounds`` is ``None`` has one round, which takes its time.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{benchmark}", description=description)
    parser.add_argument(
        "--database",
        choices=VENDORS,
        default=given_vendor(),
        help="which database (default: %(default)s); DATABASE_URL names the server",
    )
    parser.add_argument("--quick", action="store_true", help="only see that it works, in seconds")
    parser.add_argument(
        "--results", type=Path, default=FOLDER, metavar="FOLDER", help="where to write the JSON (%(default)s)"
    )
    if rounds is None:
        parser.set_defaults(rounds=1, seconds=seconds)
    else:
        parser.add_argument("--rounds", type=int, default=rounds, help="runs of each case (%(default)s)")
        parser.add_argument(
            "--seconds",
            type=float,
            default=seconds,
            help="no round starts that would end later (%(default)s)",
        )
    for name, keywords in more.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **keywords)
    given = vars(parser.parse_args(arguments))
    arguments = sys.argv[1:] if arguments is None else arguments
    common = {name: given.pop(name) for name in ("database", "quick", "results", "rounds", "seconds")}
    if common["quick"]:
        common["rounds"] = 1
    command = " ".join(["python -m", f"benchmarks.{benchmark}", *arguments])
    return Options(benchmark=benchmark, command=command, more=given, **common)

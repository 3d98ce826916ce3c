"""Processes that a benchmark starts: their log, their memory and CPU, and their certain end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Command(NamedTuple):
    """A program with its arguments, and what its environment has beyond this process's."""

    argv: Sequence[str]
    environ: Mapping[str, str]


class Usage(NamedTuple):
    """Of a tree of processes: resident and proportional memory in MiB, CPU time in seconds, how many."""

    rss: float
    pss: float
    cpu: float
    processes: int


class Processes:
    """Some processes with one log."""

    def __init__(self, commands: Sequence[Command], log: Path) -> None:
        self._log = log
        with log.open("wb") as file:
            self._roots = [
                subprocess.Popen(
                    list(command.argv),
                    env={**os.environ, **command.environ},
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                for command in commands
            ]

    def check(self) -> bool:
        """Always false. Raises ``RuntimeError`` with the end of the log if one of them has ended."""
        if any(process.poll() is not None for process in self._roots):
            raise RuntimeError(f"A worker has ended by itself:\n{self.log()}")
        return False

    def log(self) -> str:
        """The last lines that they wrote."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])

    def usage(self) -> Usage:
        """What they and their children use now."""
        pids = self._family()
        used = [_usage(pid) for pid in pids]
        rss, pss, cpu = (sum(values) for values in zip(*used, strict=True)) if used else (0.0, 0.0, 0.0)
        return Usage(rss, pss, cpu, len(pids))

    def stop(self, grace: float) -> None:
        """SIGTERM, and after ``grace`` seconds SIGKILL to whatever is left of them and their children."""
        family = self._family()
        born = {pid: one.born for pid, one in _processes().items() if pid in family}
        for process in self._roots:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + grace
        for process in self._roots:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        for pid, left in _processes().items():
            if born.get(pid) == left.born:  # not another process that got the same number since
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for process in self._roots:
            process.wait()

    def _family(self) -> set[int]:
        processes = _processes()
        family = {process.pid for process in self._roots if process.poll() is None}
        while more := {pid for pid, one in processes.items() if one.parent in family} - family:
            family |= more
        return family


@contextmanager
def running(commands: Sequence[Command], log: Path, *, grace: float = 5.0) -> Iterator[Processes]:
    """The commands as processes, which are ended with the block."""
    processes = Processes(commands, log)
    try:
        yield processes
    finally:
        processes.stop(grace)


class _Process(NamedTuple):
    parent: int
    born: int


def _processes() -> dict[int, _Process]:
    """The processes of this machine, by number."""
    processes = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = _fields(path)
            processes[int(path.parent.name)] = _Process(parent=int(fields[1]), born=int(fields[19]))
    return processes


def _fields(stat: Path) -> list[str]:
    """The fields of a ``stat`` file after the name, which may hold anything."""
    return stat.read_text().rpartition(")")[2].split()


def _usage(pid: int) -> tuple[float, float, float]:
    folder = Path(f"/proc/{pid}")
    try:
        fields = _fields(folder / "stat")
        cpu = (int(fields[11]) + int(fields[12])) / _TICKS
        rss = int(fields[21]) * _PAGE / 2**20
        lines = (folder / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0, 0.0, 0.0
    pss = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return rss, pss, cpu

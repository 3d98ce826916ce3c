"""What the numbers hang on besides the code: machine, versions, settings."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("django-jobqueue", "Django", "psycopg", "mysqlclient")


def machine() -> dict[str, str]:
    """This machine, in words."""
    return {
        "processor": f"{os.cpu_count()} x {_line('/proc/cpuinfo', 'model name') or platform.machine()}",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
    }


def versions() -> dict[str, str]:
    """Python and the packages that take part."""
    found = {"Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def busy_percent(seconds: float) -> float:
    """How much of the machine's processors is used now by whatever runs, over so many seconds."""
    idle, total = _ticks()
    time.sleep(seconds)
    idle_later, total_later = _ticks()
    return 100 * (1 - (idle_later - idle) / max(1, total_later - total))


def _ticks() -> tuple[int, int]:
    """Idle and all processor time since the machine's start."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def _line(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")

"""How much memory a job's process may take, and who goes first when the machine has none left. Linux only."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "linux":
    import resource

_OOM_SCORE = 500  # of 1000, on top of what the system gives to a process for its size


class MemoryLimitExceeded(MemoryError):
    """The handler took more memory than its ``memory_limit``."""


@contextlib.contextmanager
def limited(limit: int | None) -> Iterator[None]:
    """Let the block allocate at most ``limit`` bytes more than this process has now.

    What counts is RLIMIT_DATA: private memory that can be written to (heap and anonymous mappings), touched or
    not. Shared memory, mapped files and address space that is only reserved do not count. Processes that the
    block starts have the same bound, each for itself. An allocation beyond it fails; where Python made it that is
    a ``MemoryError``, which leaves the block as ``MemoryLimitExceeded``.
    """
    if limit is None or sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bounds = [_allocated() + limit, *(given for given in (soft, hard) if given != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), hard))
    try:
        yield
    except MemoryError as error:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))  # the record of the failure needs memory, too
        raise MemoryLimitExceeded(f"exceeded memory_limit ({limit} bytes)") from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def go_first() -> None:
    """When the machine runs out of memory, have this process killed before the worker."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(f"{_OOM_SCORE}\n")


def _allocated() -> int:
    """What RLIMIT_DATA counts of this process, in bytes."""
    found = re.search(r"^VmData:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0

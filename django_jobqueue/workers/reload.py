"""Restarting a worker when code changes, in order: what runs finishes first."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from django.db import connections
from django.utils.autoreload import StatReloader, get_child_arguments, logger

from django_jobqueue.workers.loop import Worker


class _Watcher(StatReloader):
    """Django's file watcher, with a call instead of the exit."""

    def __init__(self, on_change: Callable[[Path], None]) -> None:
        super().__init__()
        self._on_change = on_change

    def notify_file_changed(self, path: str | PathLike[str]) -> None:
        self._on_change(Path(path))


def run_reloading(worker: Worker) -> int:
    """Run ``worker``; when a source file changes, let it finish and start this command again in its place.

    Code that does not start is told, and the next change waited for.
    """
    changed = threading.Event()

    def stop(path: Path) -> None:
        logger.info("%s changed, reloading.", path)
        changed.set()
        worker.shutdown.request()

    watcher = _Watcher(stop)
    threading.Thread(target=watcher.run_loop, name="jobqueue-reload", daemon=True).start()
    code = worker.run()
    if changed.is_set() and not worker.shutdown.signalled:
        connections.close_all()
        while not _starts(changed):
            logger.error("The code does not start (see above); waiting for the next change.")
            changed.wait()
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(sys.executable, get_child_arguments())
    return code


def _starts(changed: threading.Event) -> bool:
    """Whether a process with the code of now comes as far as this command did; what stops it is on its output."""
    changed.clear()
    given = get_child_arguments()
    start = given[: len(given) - len(sys.argv[1:])]
    return subprocess.run([*start, "check", "--tag=jobqueue"], stdout=subprocess.DEVNULL).returncode == 0

"""Restarting a worker when code changes, in order: what runs finishes first."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from os import PathLike
from pathlib import Path

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
    """Run ``worker``; when a source file changes, let it finish and start this command again in its place."""
    changed: list[Path] = []

    def stop(path: Path) -> None:
        if not changed:
            logger.info("%s changed, reloading.", path)
            changed.append(path)
            worker.shutdown.request()

    watcher = _Watcher(stop)
    threading.Thread(target=watcher.run_loop, name="jobqueue-reload", daemon=True).start()
    code = worker.run()
    if changed and not worker.shutdown.signalled:
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(sys.executable, get_child_arguments())
    return code

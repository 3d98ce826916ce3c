"""Real processes for tests: quick to start, on the same test database, certain to end.

A fork server imports Django and the project once; each process is forked from it, so that it has no connection
or thread of the test's.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

from django.db import connection

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.support.child"])


class Processes:
    """The processes of one test."""

    def __init__(self) -> None:
        os.environ["JOBQUEUE_TEST_DATABASE"] = str(connection.settings_dict["NAME"])
        self.started: list[BaseProcess] = []

    def start(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> BaseProcess:
        """Run a module-level function in a process of its own; it must import what it needs from Django itself."""
        from tests.support import child

        process = _context.Process(
            target=child.main, args=(str(connection.settings_dict["NAME"]), function, args, kwargs)
        )
        process.start()
        self.started.append(process)
        return process

    def worker(self, **options: Any) -> BaseProcess:
        """A ``runworker`` process with these options of the command."""
        from tests.support import child

        return self.start(child.run_worker, **options)

    def stop(self) -> None:
        """End every process of the test."""
        for process in self.started:
            if process.is_alive():
                process.kill()
            process.join(10)


def kill(process: BaseProcess, number: int = signal.SIGKILL) -> None:
    """Send a signal to a process started here, unless it has just ended."""
    assert process.pid is not None
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, number)


def wait_until(condition: Callable[[], Any], timeout: float = 30.0, interval: float = 0.02) -> Any:
    """Wait until ``condition`` is true and return what it returned; fail after ``timeout`` seconds."""
    end = time.monotonic() + timeout
    while True:
        if value := condition():
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{condition} did not become true in {timeout} s")
        time.sleep(interval)

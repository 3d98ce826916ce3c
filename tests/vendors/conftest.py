from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from django_jobqueue.jobs.queryset import table_of
from django_jobqueue.models import Job
from django_jobqueue.vendors import Table, Vendor, vendor_for


@pytest.fixture
def vendor() -> Vendor:
    return vendor_for(connection)


@pytest.fixture
def table() -> Table:
    return table_of(Job)


class Race:
    """Processes that start together; ``run`` returns what each wrote, once all have ended well."""

    def __init__(self, processes: Any, folder: Path) -> None:
        self.processes = processes
        self.folder = folder
        self.starts: list[tuple[Any, tuple[Any, ...], dict[str, Any], bool]] = []

    def add(self, function: Any, *args: Any, **kwargs: Any) -> None:
        """One more process, which calls ``function(barrier, path, ...)``."""
        self.starts.append((function, args, kwargs, True))

    def begin(self, *, with_test: bool = False) -> Any:
        """Start the processes; returns the barrier, at which the test itself counts too if it says so."""
        self.barrier = multiprocessing.get_context("forkserver").Barrier(len(self.starts) + with_test)
        self.started = [
            self.processes.start(function, self.barrier, str(self.folder / f"{number}.json"), *args, **kwargs)
            for number, (function, args, kwargs, _) in enumerate(self.starts)
        ]
        return self.barrier

    def end(self, timeout: float = 90) -> list[list[Any]]:
        """Wait for all, none of which may have met an error; what each wrote."""
        for process in self.started:
            process.join(timeout)
        assert [process.exitcode for process in self.started] == [0] * len(self.started)
        files = [self.folder / f"{number}.json" for number in range(len(self.starts))]
        return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]

    def run(self) -> list[list[Any]]:
        self.begin()
        return self.end()


@pytest.fixture
def race(processes: Any, tmp_path: Path) -> Race:
    return Race(processes, tmp_path)

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.workers import drain
from tests.tasks_backend.framework import task_enqueued, task_finished, task_started


@pytest.fixture
def run(transactional_db: None) -> Any:
    """Runs what is there to an end, and brings results up to date: ``run(result, ...)``."""

    def run(*results: Any) -> Any:
        drain(concurrency=4)
        for result in results:
            result.refresh()
        return results[0] if results else None

    return run


class Heard:
    """What the framework's signals told, in order."""

    def __init__(self) -> None:
        self.all: list[tuple[str, type, str, str]] = []
        self.results: list[Any] = []

    def of(self, result: Any) -> list[tuple[str, str]]:
        """Signal and status, for one result."""
        return [(name, status) for name, _, id, status in self.all if id == result.id]


@pytest.fixture
def heard() -> Iterator[Heard]:
    heard = Heard()
    receivers = []

    def listen(name: str, signal: Any) -> None:
        def receiver(sender: type, task_result: Any, **_: Any) -> None:
            heard.all.append((name, sender, task_result.id, str(task_result.status)))
            heard.results.append(task_result)

        signal.connect(receiver)
        receivers.append((signal, receiver))

    listen("enqueued", task_enqueued)
    listen("started", task_started)
    listen("finished", task_finished)
    yield heard
    for signal, receiver in receivers:
        signal.disconnect(receiver)

"""Effects while worker processes are killed, at every point at which it matters and at random."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from django_jobqueue.models import Job, JobExecution
from tests.docs.pages import Page
from tests.support import effects
from tests.support.gateway import Gateway
from tests.support.models import Effect
from tests.support.processes import Processes, kill

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

ATOMIC = "an atomic handler"
JOBS = 1000


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    serving = Gateway()
    yield serving
    serving.close()


class Crew:
    """Worker processes that are replaced when they die."""

    def __init__(self, processes: Processes, size: int, **options: Any) -> None:
        self._processes = processes
        self._options = {"lease": 1.0, "poll_interval": 0.05, **options}
        self.workers = [self._hire() for _ in range(size)]
        self.deaths = 0

    def _hire(self) -> BaseProcess:
        return self._processes.start(effects.run_worker, **self._options)

    def work_until(self, done: Callable[[], bool], *, meanwhile: Callable[[], None]) -> None:
        end = time.monotonic() + 240
        while not done():
            assert time.monotonic() < end, "the jobs did not come to an end"
            meanwhile()
            for index, worker in enumerate(self.workers):
                if not worker.is_alive():
                    self.deaths += 1
                    self.workers[index] = self._hire()

    def go_home(self) -> None:
        for worker in self.workers:
            kill(worker, signal.SIGTERM)
        for worker in self.workers:
            worker.join(20)
            assert worker.exitcode == 0


def documented() -> dict[tuple[str, str], str]:
    """The cells of the docs' table of crash points, by tool and point."""
    section = Page("docs/effects.md").section("What happens when a worker dies")
    lines = [line for line in section.splitlines() if line.startswith("|")]
    head, _, *rows = [
        [cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines
    ]
    return {(tool, row[0]): cell for row in rows for tool, cell in zip(head[1:], row[1:], strict=True)}


def test_at_every_crash_point_the_effects_are_what_the_docs_say(
    processes: Processes, gateway: Gateway, tmp_path: Path
):
    expected = documented()
    jobs = {}
    for number, (tool, point) in enumerate(expected):
        payload: dict[str, Any] = {"die": {"at": point, "once": str(tmp_path / str(number))}}
        if tool == ATOMIC:
            jobs[tool, point] = Job.objects.enqueue("test.charge_atomic", payload).pk
        else:
            payload |= {"tool": tool, "url": gateway.url(str(number))}
            jobs[tool, point] = Job.objects.enqueue("test.charge", payload).pk
    # Each death, and nothing else, is to be seen: no lease runs out because the machine is busy, and who dies in a
    # job takes no unwritten end of another along.
    crew = Crew(processes, 2, concurrency=1, prefetch=0, lease=3.0)
    crew.work_until(
        lambda: not Job.objects.exclude(status__in=["completed", "failed"]).exists(),
        meanwhile=lambda: time.sleep(0.05),
    )
    crew.go_home()
    # Each died at its point. Not always with its worker: what runs beside a lost job has a process of its own.
    assert {path.name for path in tmp_path.iterdir()} >= {str(number) for number in range(len(expected))}
    assert 0 < crew.deaths <= len(expected)
    found = {}
    for number, (tool, point) in enumerate(expected):
        job = Job.objects.get(pk=jobs[tool, point])
        in_database = Effect.objects.filter(job=job.pk).count()
        count = in_database if tool == ATOMIC else gateway.charges[str(number)]
        doubt = JobExecution.objects.in_doubt().filter(pk=f"job:{job.pk}:charge").exists()
        found[tool, point] = f"{count}, {'in doubt' if doubt else job.status}"
    assert found == expected
    repeated = list(expected).index(("once and effect_key", "after the effect"))
    assert gateway.requests[str(repeated)] == 2  # it was the gateway that recognized the key


def test_a_thousand_atomic_jobs_count_to_a_thousand_while_workers_are_killed(processes: Processes):
    random.seed(300)
    Effect.objects.bulk_create([Effect(name=f"row {row}") for row in range(JOBS)] + [Effect(name="counter")])
    Job.objects.enqueue_many([{"type": "test.add_one", "payload": {"row": row}} for row in range(JOBS)])
    crew = Crew(processes, 3, concurrency=2)

    def kill_one() -> None:
        time.sleep(0.3)
        kill(random.choice(crew.workers))

    crew.work_until(lambda: not Job.objects.exclude(status="completed").exists(), meanwhile=kill_one)
    assert crew.deaths >= 3
    assert Effect.objects.get(name="counter").pid == JOBS
    assert set(Effect.objects.filter(name__startswith="row").values_list("pid", flat=True)) == {1}

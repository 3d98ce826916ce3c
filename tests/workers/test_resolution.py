"""Code of the project that is imported to find a job's handler: it delays no renewal and ends no worker."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from django_jobqueue import registry
from django_jobqueue.jobs.new_job import TASK
from django_jobqueue.models import Job
from django_jobqueue.registry import Handler
from tests.support.processes import wait_until
from tests.support.workers import drain, running

pytestmark = pytest.mark.django_db(transaction=True)

MODULE = """
import time
from django_jobqueue.tasks import task
{}

@task
def work():
    return "done"

@task
async def work_async():
    return "done"
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write a module of tasks that nobody has imported yet, which begins with a line of its own."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, line: str = "") -> str:
        (tmp_path / f"{name}.py").write_text(MODULE.format(line))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


def enqueue(path: str, **options: object) -> Job:
    job = Job.objects.enqueue(path, {"args": [], "kwargs": {}}, **options)
    Job.objects.filter(pk=job.pk).update(meta={TASK: {"backend": "default"}})
    return job


@pytest.mark.parametrize(
    "line", ["raise SystemExit(3)", "raise KeyboardInterrupt", "raise RuntimeError('import')"]
)
@pytest.mark.parametrize("name", ["work", "work_async"])
def test_an_import_that_raises_anything_is_its_jobs_failed_attempt(module, line, name):
    poison = enqueue(f"{module('raising_tasks', line)}.{name}", max_retries=1)
    healthy = [Job.objects.enqueue("test.noop") for _ in range(3)]
    assert drain() == {"completed": len(healthy), "retried": 1, "failed": 1}
    attempts = Job.objects.get(pk=poison.pk).attempts.all()
    assert [attempt.outcome for attempt in attempts] == ["failed", "failed"]
    assert line.split("raise ")[1].split("(")[0] in attempts[0].exception_class


@pytest.mark.parametrize("name", ["work", "work_async"])
def test_an_import_that_takes_longer_than_a_lease_delays_no_renewal_and_no_other_job(module, name):
    slow = enqueue(f"{module('slow_tasks', 'time.sleep(2.5)')}.{name}")
    long = Job.objects.enqueue("test.effect", {"seconds": 2.0})
    with running(concurrency=1, lease_seconds=1.0):
        wait_until(lambda: Job.objects.get(pk=long.pk).status == "completed")
        assert Job.objects.get(pk=slow.pk).status == "running"
        wait_until(lambda: Job.objects.get(pk=slow.pk).status == "completed")
    for job in Job.objects.all():
        assert (job.retry_count, job.fencing_token) == (0, 1)


def test_an_import_that_never_ends_holds_up_no_other_type_and_no_end(monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def resolver(job: object) -> Handler | None:
        if job.type == "late":
            begun.set()
            go_on.wait(60)
        return Handler(type=job.type, function=lambda job: None)

    monkeypatch.setattr(registry, "_resolvers", [resolver])
    late = Job.objects.enqueue("late")
    with running(concurrency=1):
        assert begun.wait(30)
        others = [Job.objects.enqueue(f"other.{number}").pk for number in range(3)]
        wait_until(lambda: Job.objects.filter(pk__in=others, status="completed").count() == 3)
    late.refresh_from_db()
    assert (late.status, late.retry_count) == ("pending", 0)
    go_on.set()

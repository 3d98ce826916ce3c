"""A worker that is told to stop, or is done, always ends: whatever holds up its threads."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from django_jobqueue.models import Job
from django_jobqueue.workers import watchdog
from tests.support import child
from tests.support.processes import Processes, kill, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(90)]


def blocked(started: Processes, tmp_path: Path, **options: Any) -> tuple[Any, Path]:
    """A worker whose main thread waits for a database that answers nothing, and its log."""
    log = tmp_path / "log"
    worker = started.start(child.run_blocked_worker, str(log), poll_interval=0.05, **options)
    job = Job.objects.enqueue("test.noop")
    wait_until(lambda: Job.objects.get(pk=job.pk).status == "completed")
    Path(f"{log}.block").touch()
    count = options.get("processes", 1)
    wait_until(lambda: len(list(tmp_path.glob("log.blocked-*"))) == count)
    return worker, log


def test_a_worker_whose_database_answers_nothing_ends_after_the_first_signal(processes, tmp_path):
    worker, log = blocked(processes, tmp_path, shutdown_timeout=1.0)
    began = time.monotonic()
    kill(worker, signal.SIGTERM)
    worker.join(40)
    assert worker.exitcode == 1
    assert time.monotonic() - began < 1.0 + watchdog.GRACE + 5.0
    assert "held up in" in log.read_text()
    assert "0 jobs are unfinished" in log.read_text()


def test_the_second_signal_ends_it_at_once(processes, tmp_path):
    worker, log = blocked(processes, tmp_path, shutdown_timeout=3600.0)
    kill(worker, signal.SIGTERM)
    time.sleep(0.2)  # two signals of a kind that are pending together are one
    kill(worker, signal.SIGTERM)
    worker.join(40)
    assert worker.exitcode == 1
    assert "held up in" in log.read_text()


def test_each_of_several_processes_ends_by_itself(processes, tmp_path):
    worker, log = blocked(processes, tmp_path, shutdown_timeout=1.0, processes=2)
    kill(worker, signal.SIGTERM)
    worker.join(60)
    assert worker.exitcode == 1
    assert log.read_text().count("held up in") == 2


@pytest.mark.parametrize("what", ["thread", "executor"])
@pytest.mark.parametrize("option", [{"drain": True}, {"max_jobs": 1}])
def test_what_a_handler_left_behind_keeps_no_worker_that_is_done(processes, tmp_path, option, what):
    log = tmp_path / "log"
    job = Job.objects.enqueue("test.leave_behind", {"what": what})
    worker = processes.start(child.run_leaving_command, str(log), poll_interval=0.05, **option)
    worker.join(60)
    assert worker.exitcode == 0
    assert Job.objects.get(pk=job.pk).status == "completed"
    assert "left behind (never-ending" in log.read_text()

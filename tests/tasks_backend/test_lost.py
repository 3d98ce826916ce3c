"""What becomes of jobs when the code or the settings that they were enqueued with are gone."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from django_jobqueue.backend import JobQueueBackend
from django_jobqueue.models import Job
from django_jobqueue.tasks.resolve import PATIENCE
from tests.support.models import Effect
from tests.support.workers import drain
from tests.tasks_backend import tasks
from tests.tasks_backend.conftest import Heard
from tests.tasks_backend.framework import FAILED, READY, SUCCESSFUL, TaskResultMismatch, default_task_backend

pytestmark = pytest.mark.django_db(transaction=True)

BACKEND = "django_jobqueue.backend.JobQueueBackend"
GONE = {
    "a task": "tests.tasks_backend.tasks.gone",
    "a module": "tests.tasks_backend.gone.noop",
    "a package": "gone.tasks.noop",
}


def enqueued_as(path: str) -> Any:
    """A task that was enqueued under another path, as by code of another time."""
    result = tasks.noop.enqueue(1, two=3)
    Job.objects.filter(pk=result.id).update(type=path)
    return default_task_backend.get_result(result.id)


@pytest.mark.parametrize("path", GONE.values(), ids=GONE)
def test_a_result_of_a_task_that_is_gone_stays_readable(path: str):
    result = enqueued_as(path)
    assert (result.task.module_path, result.args, result.kwargs) == (path, [1], {"two": 3})
    assert (result.status, result.backend, result.task.queue_name) == (READY, "default", "default")
    assert default_task_backend.get_result(result.id) == result


def test_a_task_that_is_gone_cannot_be_called():
    with pytest.raises(ImportError, match=r"tasks\.gone is not a task of this project any more"):
        enqueued_as(GONE["a task"]).task.call()


def test_a_result_of_a_task_that_is_gone_belongs_to_no_other_task():
    with pytest.raises(TaskResultMismatch):
        tasks.noop.get_result(enqueued_as(GONE["a task"]).id)


@pytest.mark.parametrize("path", [*GONE.values(), "gone"], ids=[*GONE, "a name without a module"])
def test_a_task_that_is_gone_waits_and_the_worker_goes_on(path: str, run: Any):
    gone, there = enqueued_as(path), tasks.noop.enqueue()
    run(gone, there)
    job = Job.objects.get(pk=gone.id)
    assert (gone.status, there.status) == (READY, SUCCESSFUL)
    assert (job.status, job.retry_count) == ("scheduled", 0)
    assert f"No handler for the type {path!r}" in job.error


def test_a_task_that_is_gone_for_long_fails_with_the_import_error(run: Any):
    result = enqueued_as(GONE["a task"])
    Job.objects.filter(pk=result.id).update(fencing_token=PATIENCE, max_retries=0)
    run(result)
    [error] = result.errors
    assert (result.status, error.exception_class) == (FAILED, ImportError)
    assert "gone" in error.traceback


@pytest.mark.parametrize(
    "path",
    [
        "tests.tasks_backend.tasks.not_a_task",
        "os.getcwd",
        "builtins.exit",
        "tests.support.jobs.record",
        "os.path",
    ],
)
def test_what_is_no_task_is_never_called(path: str, run: Any):
    result, there = enqueued_as(path), tasks.noop.enqueue()
    run(result, there)
    [error] = result.errors
    assert (result.status, result.attempts, there.status) == (FAILED, 1, SUCCESSFUL)
    assert f"{path} is not a task; only tasks are run." in error.traceback
    assert not Effect.objects.exists()


def test_a_module_that_raises_fails_its_tasks_and_the_worker_goes_on(
    run: Any, tmp_path: Any, monkeypatch: Any
):
    (tmp_path / "jobqueue_raising.py").write_text("raise ZeroDivisionError('while importing')")
    monkeypatch.syspath_prepend(tmp_path)
    result, there = enqueued_as("jobqueue_raising.task"), tasks.noop.enqueue()
    Job.objects.filter(pk=result.id).update(max_retries=0)
    run(result, there)
    assert (result.status, there.status) == (FAILED, SUCCESSFUL)
    assert result.errors[0].exception_class is ZeroDivisionError


def test_a_job_that_only_looks_like_a_task_is_none(run: Any):
    job = Job.objects.enqueue("tests.tasks_backend.tasks.effect", {"args": [], "kwargs": {}})
    drain()
    assert Job.objects.get(pk=job.pk).status == "scheduled"
    assert not Effect.objects.exists()


@pytest.mark.parametrize(
    "payload", [{}, {"args": []}, {"args": [], "kwargs": {}, "more": 1}, {"args": 5, "kwargs": {}}]
)
def test_a_payload_that_is_no_call_is_a_recorded_failure(payload: dict[str, Any], run: Any):
    result, there = tasks.fail.enqueue(), tasks.noop.enqueue()
    Job.objects.filter(pk=result.id).update(payload=payload)
    drain()
    there.refresh()
    assert (default_task_backend.get_result(result.id).status, there.status) == (FAILED, SUCCESSFUL)


@pytest.fixture
def other_settings(settings: Any) -> Any:
    """``TASKS`` as it is after a change; what was enqueued before stays."""

    def change(**aliases: Any) -> None:
        settings.TASKS = aliases

    return change


def test_tasks_of_a_queue_that_was_removed_still_run(run: Any, other_settings: Any):
    result = tasks.send_mail.enqueue()
    other_settings(default={"BACKEND": BACKEND, "QUEUES": ["default"]})
    assert default_task_backend.get_result(result.id) == result
    assert run(result).status == SUCCESSFUL


def test_tasks_of_an_alias_that_was_removed_still_run(run: Any, other_settings: Any, heard: Heard):
    id = tasks.meaning_of_life.using(backend="once").enqueue().id
    other_settings(default={"BACKEND": BACKEND})
    drain()
    result = default_task_backend.get_result(id)
    assert (result.status, result.return_value, result.backend) == (SUCCESSFUL, 42, "once")
    assert heard.all[-1] == ("finished", JobQueueBackend, id, "SUCCESSFUL")


@pytest.mark.parametrize("now", ["{package}.backends.dummy.DummyBackend", "no.such.Backend"])
def test_tasks_of_an_alias_that_means_something_else_now_still_run(
    now: str, other_settings: Any, heard: Heard, run: Any
):
    package = tasks.noop.__class__.__mro__[1].__module__.removesuffix(".base")
    id = tasks.noop.using(backend="once").enqueue().id
    other_settings(default={"BACKEND": BACKEND}, once={"BACKEND": now.format(package=package)})
    drain()
    assert heard.all[-1] == ("finished", JobQueueBackend, id, "SUCCESSFUL")
    assert default_task_backend.get_result(id).status == SUCCESSFUL


def test_a_task_that_was_renamed_runs_under_the_old_name_where_an_alias_is_kept(run: Any, monkeypatch: Any):
    module = ModuleType("jobqueue_old_tasks")
    module.old_name = tasks.meaning_of_life  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    result = enqueued_as("jobqueue_old_tasks.old_name")
    Job.objects.filter(pk=result.id).update(payload={"args": [], "kwargs": {}})
    assert run(result).return_value == 42

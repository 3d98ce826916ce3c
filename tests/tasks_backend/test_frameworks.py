"""The backport's decorator beside Django's own framework; with Django 5.2 the backport is the only one."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import django_tasks
import pytest
from django_tasks import signals as backport_signals
from django_tasks.exceptions import InvalidTaskError, TaskResultDoesNotExist, TaskResultMismatch

from django_jobqueue.backend import JobQueueBackend
from django_jobqueue.models import Job
from django_jobqueue.tasks import JobTask, enqueue_many
from django_jobqueue.tasks.framework import FRAMEWORK, framework_of, frameworks
from tests.tasks_backend import backport_tasks, tasks
from tests.tasks_backend.conftest import Heard
from tests.tasks_backend.framework import SUCCESSFUL, default_task_backend

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def backport_heard() -> Iterator[list[tuple[str, type, str]]]:
    heard: list[tuple[str, type, str]] = []
    receivers = []
    for name in ("task_enqueued", "task_started", "task_finished"):

        def receiver(sender: type, task_result: Any, name: str = name, **_: Any) -> None:
            heard.append((name, sender, str(task_result.status)))

        signal = getattr(backport_signals, name)
        signal.connect(receiver)
        receivers.append((signal, receiver))
    yield heard
    for signal, receiver in receivers:
        signal.disconnect(receiver)


def test_the_framework_is_djangos_own_where_it_has_one():
    assert FRAMEWORK.package == ("django.tasks" if django.VERSION >= (6,) else "django_tasks")
    assert [known.package for known in frameworks()] == list(
        dict.fromkeys((FRAMEWORK.package, "django_tasks"))
    )


def test_the_backports_decorator_makes_a_task_of_the_backport():
    assert isinstance(backport_tasks.add, django_tasks.base.Task)
    assert framework_of(backport_tasks.add).package == "django_tasks"
    assert backport_tasks.fail.max_retries == 0


def test_the_backports_task_runs(run: Any):
    result = backport_tasks.add.enqueue(40, b=2)
    assert isinstance(result, django_tasks.TaskResult)
    run(result)
    assert (result.status, result.return_value) == (django_tasks.TaskResultStatus.SUCCESSFUL, 42)
    assert (result.status, result.attempts) == (SUCCESSFUL, 1)


def test_the_backports_context_reaches_its_task(run: Any):
    assert run(backport_tasks.attempt.enqueue()).return_value == 1


def test_the_backports_signals_tell_of_its_tasks(backport_heard: list[Any], run: Any):
    run(backport_tasks.add.enqueue(1))
    assert backport_heard == [
        ("task_enqueued", JobQueueBackend, "READY"),
        ("task_started", JobQueueBackend, "RUNNING"),
        ("task_finished", JobQueueBackend, "SUCCESSFUL"),
    ]


def test_each_task_is_told_of_by_its_own_framework_alone(backport_heard: list[Any], heard: Heard, run: Any):
    own, backports = tasks.noop.enqueue(), backport_tasks.fail.enqueue()
    run(own, backports)
    of_backport = {status for name, _, status in backport_heard if name == "task_finished"}
    of_own = {status for name, _, _, status in heard.all if name == "finished"}
    if FRAMEWORK.package == "django_tasks":
        assert of_backport == of_own == {"SUCCESSFUL", "FAILED"}
    else:
        assert (of_backport, of_own) == ({"FAILED"}, {"SUCCESSFUL"})


def test_results_come_back_through_the_backport():
    result = backport_tasks.add.enqueue(1)
    assert backport_tasks.add.get_result(result.id) == result
    assert django_tasks.default_task_backend.get_result(result.id) == result
    assert default_task_backend.get_result(result.id) == result


def test_errors_are_the_backports():
    with pytest.raises(InvalidTaskError, match="Queue 'other' is not valid"):
        backport_tasks.add.using(queue_name="other")
    with pytest.raises(InvalidTaskError, match="max_retries: "):
        backport_tasks.add.using(max_retries=-1)
    with pytest.raises(TaskResultDoesNotExist):
        backport_tasks.add.get_result("123456")
    with pytest.raises(TaskResultMismatch):
        backport_tasks.add.get_result(backport_tasks.attempt.enqueue().id)


def test_options_hold_for_the_backports_tasks():
    enqueue_many(backport_tasks.add.using(max_retries=7), [(1,), (2,)])
    assert [job.max_retries for job in Job.objects.all()] == [7, 7]


def test_a_task_whose_backend_is_of_another_kind_keeps_its_options(settings: Any):
    package = FRAMEWORK.package
    settings.TASKS = {
        "default": {"BACKEND": f"{package}.backends.immediate.ImmediateBackend", "QUEUES": []},
        "jobs": {"BACKEND": "django_jobqueue.backend.JobQueueBackend", "OPTIONS": {"max_retries": 5}},
    }
    assert tasks.meaning_of_life.using(max_retries=2).enqueue().return_value == 42
    assert tasks.fail.enqueue("at once").errors[0].exception_class is ValueError
    tasks.fail.using(backend="jobs").enqueue()
    assert Job.objects.get().max_retries == 0


def test_a_task_that_another_backend_declared_becomes_a_job(settings: Any, monkeypatch: Any, run: Any):
    package = FRAMEWORK.package
    settings.TASKS = {
        "default": {"BACKEND": f"{package}.backends.dummy.DummyBackend"},
        "jobs": {"BACKEND": "django_jobqueue.backend.JobQueueBackend", "OPTIONS": {"max_retries": 5}},
    }
    plain = FRAMEWORK.task(
        func=tasks.meaning_of_life.func,
        priority=0,
        backend="default",
        queue_name="default",
        run_after=None,
    )
    assert not isinstance(plain, JobTask)
    monkeypatch.setattr(tasks, "meaning_of_life", plain)
    result = run(plain.using(backend="jobs", priority=3).enqueue())
    assert (result.return_value, result.task.priority, Job.objects.get().max_retries) == (42, 3, 5)


def test_the_frameworks_own_decorator_takes_the_options_where_it_takes_any():
    from tests.tasks_backend.framework import task

    options: dict[str, Any] = {"max_retries": 2}
    if django.VERSION[:2] == (6, 0):
        with pytest.raises(TypeError):
            task(**options)(tasks.not_a_task)
    else:
        assert task(**options)(tasks.not_a_task).max_retries == 2


def test_a_task_class_of_the_backend_is_honoured(settings: Any, monkeypatch: pytest.MonkeyPatch):
    from django_jobqueue.tasks import task
    from tests.tasks_backend.backends import OnceBackend

    class Louder(JobTask): ...

    monkeypatch.setattr(OnceBackend, "task_class", Louder)
    assert type(task(backend="once")(tasks.not_a_task)) is Louder


def test_a_pickled_task_is_found_again_where_the_framework_can_pickle():
    if django.VERSION >= (6, 1):
        task = tasks.noop.using(max_retries=2)
        assert pickle.loads(pickle.dumps(task)) == task
    else:
        with pytest.raises(pickle.PicklingError):
            pickle.dumps(tasks.noop)


def test_a_task_can_be_declared_before_the_apps_are_ready():
    script = (
        "from django.conf import settings\n"
        "settings.configure(TASKS={'default': {'BACKEND': 'django_jobqueue.backend.JobQueueBackend'}})\n"
        "from django_jobqueue.tasks import task\n"
        "def work(): pass\n"
        "print(task(max_retries=2)(work).max_retries)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert (done.stdout, done.stderr) == ("2\n", "")

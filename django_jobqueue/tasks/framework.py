"""Django's tasks framework under one set of names, whatever each version calls them.

It is ``django.tasks`` (Django 6) or its backport ``django_tasks`` (Django 5.2). On Django 6 the two may live
side by side: a task belongs to the framework whose decorator made it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django_jobqueue.tasks.task import job_context, job_task


class Framework:
    """The names of one framework."""

    def __init__(self, package: str) -> None:
        top = import_module(package)
        base = import_module(f"{package}.base")
        exceptions = import_module(f"{package}.exceptions")
        signals = import_module(f"{package}.signals")
        self.package = package
        self.backends: Any = top.task_backends
        self.base_backend: Any = import_module(f"{package}.backends.base").BaseTaskBackend
        self.task: Any = base.Task
        self.result: Any = base.TaskResult
        self.status: Any = base.TaskResultStatus
        self.error: Any = base.TaskError
        self.invalid_task: type[Exception] = (
            exceptions.InvalidTask if hasattr(exceptions, "InvalidTask") else exceptions.InvalidTaskError
        )
        self.result_does_not_exist: type[Exception] = exceptions.TaskResultDoesNotExist
        self.task_enqueued = signals.task_enqueued
        self.task_started = signals.task_started
        self.task_finished = signals.task_finished
        self.job_task: Any = job_task(base.Task)
        self.job_context: Any = job_context(base.TaskContext)


@cache
def _load(package: str) -> Framework:
    return Framework(package)


def _own() -> Framework:
    package = "django.tasks" if find_spec("django.tasks") else "django_tasks"
    try:
        import_module(f"{package}.checks")  # registers the system check that asks every backend
        return _load(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ImportError(
            "Tasks need Django 6, or django-tasks with Django 5.2: pip install 'django-tasks>=0.12'."
        ) from error


FRAMEWORK = _own()
"""Django's own framework, or the backport where Django has none."""


def frameworks() -> Iterator[Framework]:
    """``FRAMEWORK``, and the backport where something in a Django 6 project has imported it as well."""
    yield FRAMEWORK
    if FRAMEWORK.package != "django_tasks" and hasattr(sys.modules.get("django_tasks"), "task_backends"):
        yield _load("django_tasks")


def framework_of(task: Any) -> Framework:
    """The framework that ``task`` is a task of; ``FRAMEWORK`` for anything else."""
    return next((known for known in frameworks() if isinstance(task, known.task)), FRAMEWORK)


def is_task(candidate: Any) -> bool:
    """Whether this is a task of a framework in use."""
    return any(isinstance(candidate, known.task) for known in frameworks())

"""The framework as a project imports it: Django's own, or the backport with Django 5.2."""

from __future__ import annotations

try:
    from django.tasks import TaskResultStatus, default_task_backend, task, task_backends
    from django.tasks.base import Task, TaskResult
    from django.tasks.exceptions import (
        InvalidTask,
        InvalidTaskBackend,
        TaskResultDoesNotExist,
        TaskResultMismatch,
    )
    from django.tasks.signals import task_enqueued, task_finished, task_started

    LOGGER = "django.tasks"
except ImportError:
    from django_tasks import TaskResultStatus, default_task_backend, task, task_backends
    from django_tasks.base import Task, TaskResult
    from django_tasks.exceptions import InvalidTaskBackendError as InvalidTaskBackend
    from django_tasks.exceptions import InvalidTaskError as InvalidTask
    from django_tasks.exceptions import TaskResultDoesNotExist, TaskResultMismatch
    from django_tasks.signals import task_enqueued, task_finished, task_started

    LOGGER = "django_tasks"

READY = TaskResultStatus.READY
RUNNING = TaskResultStatus.RUNNING
FAILED = TaskResultStatus.FAILED
SUCCESSFUL = TaskResultStatus.SUCCESSFUL

__all__ = [
    "FAILED",
    "LOGGER",
    "READY",
    "RUNNING",
    "SUCCESSFUL",
    "InvalidTask",
    "InvalidTaskBackend",
    "Task",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultMismatch",
    "TaskResultStatus",
    "default_task_backend",
    "task",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]

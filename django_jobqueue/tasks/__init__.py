"""Tasks of Django's tasks framework, with what this queue can do more: retries, backoff, timeouts, keys.

Needs ``TASKS = {"default": {"BACKEND": "django_jobqueue.backend.JobQueueBackend"}}`` and Django 6, or Django 5.2
with ``django-tasks``.
"""

from django_jobqueue.tasks.declare import JobTask, task
from django_jobqueue.tasks.enqueue import aenqueue_many, enqueue_many
from django_jobqueue.tasks.framework import FRAMEWORK

JobContext = FRAMEWORK.job_context

__all__ = ["JobContext", "JobTask", "aenqueue_many", "enqueue_many", "task"]

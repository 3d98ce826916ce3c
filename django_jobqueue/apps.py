"""The app."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core.checks import CheckMessage, Tags, register
from django.utils.module_loading import autodiscover_modules


class JobQueueConfig(AppConfig):
    name = "django_jobqueue"
    verbose_name = "Job queue"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django_jobqueue import checks, conf, logs  # noqa: F401 - checks registers the system checks
        from django_jobqueue.outbox import handlers

        logs.make_inert()
        handlers.register()
        register(_check_api, Tags.urls)
        if apps.is_installed("drf_spectacular"):
            import django_jobqueue.api.schema  # noqa: F401 - describes the calls in the project's own schema
        if _has_tasks():
            from django_jobqueue import registry
            from django_jobqueue.tasks.resolve import resolve

            registry.add_resolver(resolve)
        if conf.autodiscovers():
            autodiscover_modules("jobs")


def _has_tasks() -> bool:
    """Whether Django has its tasks framework, or the backport of it is there and set up."""
    return find_spec("django.tasks") is not None or (
        hasattr(settings, "TASKS") and find_spec("django_tasks") is not None
    )


def _check_api(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    from django_jobqueue.api.checks import check_api  # workers need no API in memory

    return check_api(app_configs, **options)

"""The app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Tags, register
from django.utils.module_loading import autodiscover_modules


class JobQueueConfig(AppConfig):
    name = "django_jobqueue"
    verbose_name = "Job queue"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django_jobqueue import checks, logs  # noqa: F401 - checks registers the system checks

        logs.make_inert()
        register(_check_api, Tags.urls)
        autodiscover_modules("jobs")


def _check_api(app_configs: Sequence[AppConfig] | None, **options: Any) -> list[CheckMessage]:
    from django_jobqueue.api.checks import check_api  # workers need no API in memory

    return check_api(app_configs, **options)

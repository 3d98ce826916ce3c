from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from django.apps import apps
from django.core import checks
from django.core.checks.registry import registry as check_registry

from tests.tasks_backend.framework import default_task_backend

pytestmark = pytest.mark.django_db

BACKEND = "django_jobqueue.backend.JobQueueBackend"


def found(**alias: Any) -> list[tuple[str, str]]:
    """Ids and texts of what ``manage.py check`` says with this one alias."""
    from django.test import override_settings

    with override_settings(TASKS={"default": {"BACKEND": BACKEND, **alias}}):
        return [(str(message.id), str(message.msg)) for message in checks.run_checks()]


def test_the_settings_of_these_tests_are_fine():
    assert list(default_task_backend.check()) == []


def test_the_frameworks_check_is_registered_by_this_app():
    modules = {check.__module__ for check in check_registry.registered_checks}
    assert modules & {"django.tasks.checks", "django_tasks.checks"}


def test_a_backend_without_its_app_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apps, "is_installed", lambda name: name != "django_jobqueue")
    [error] = default_task_backend.check()
    assert (error.id, error.hint) == ("django_jobqueue.E020", "Add 'django_jobqueue' to INSTALLED_APPS.")


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"retries": 3}, "retries: is no option; there are max_retries, backoff, timeout."),
        ({"max_retries": -1}, "max_retries: must be from 0 to 1000."),
        ({"backoff": "no.such.path"}, "backoff: No module named 'no'"),
        ({"timeout": "60"}, "timeout: must be a number of seconds, not str."),
        ({"atomic": True}, "atomic: is no option; there are max_retries, backoff, timeout."),
    ],
)
def test_options_that_are_wrong_are_errors(options: dict[str, Any], sentence: str):
    assert found(OPTIONS=options) == [("django_jobqueue.E021", f"TASKS['default']['OPTIONS'] {sentence}")]


def test_options_that_are_right_are_fine():
    assert (
        found(OPTIONS={"max_retries": 0, "backoff": "tests.tasks_backend.tasks.ten_minutes", "timeout": 60})
        == []
    )


def test_a_queue_that_no_worker_serves_is_a_warning(settings: Any):
    settings.JOBQUEUE = {"WORKER_QUEUES": ["default", "mail-*"]}
    assert found(QUEUES=["default", "mail-fast", "reports"]) == [
        (
            "django_jobqueue.W020",
            "TASKS['default'] has the queue 'reports', which no pattern of JOBQUEUE['WORKER_QUEUES'] matches: "
            "its tasks may wait for ever.",
        )
    ]


def test_without_patterns_every_queue_is_served(settings: Any):
    settings.JOBQUEUE = {}
    assert found(QUEUES=["reports"]) == []


def test_an_alias_that_takes_every_queue_is_fine(settings: Any):
    settings.JOBQUEUE = {"WORKER_QUEUES": ["default"]}
    assert found(QUEUES=[]) == []


@pytest.mark.parametrize("patterns", ["default", [1], [""], 5])
def test_patterns_that_are_no_list_of_names_are_an_error(patterns: Any, settings: Any):
    settings.JOBQUEUE = {"WORKER_QUEUES": patterns}
    assert [id for id, _ in found()] == ["django_jobqueue.E001"]


def test_a_project_without_the_framework_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch):
    from django_jobqueue import checks as own

    def find_spec(name: str) -> Any:
        return None if name in ("django.tasks", "django_tasks") else importlib.util.find_spec(name)

    monkeypatch.setattr(own, "find_spec", find_spec)
    [error] = own.check_tasks_framework(None)
    assert error.id == "django_jobqueue.E022"
    assert error.hint == "Install its backport: pip install 'django-tasks>=0.12'."

"""The directions of imports, and what the app needs to be imported at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

EXTRAS = [
    "MySQLdb",
    "PIL",
    "amqp",
    "dj_database_url",
    "django_tasks",
    "drf_spectacular",
    "httpx",
    "kombu",
    "opentelemetry",
    "prometheus_client",
    "psycopg",
    "psycopg2",
    "standardwebhooks",
]

IMPORT_ALL = """
import importlib, pkgutil, sys

for extra in {extras!r}:
    sys.modules[extra] = None  # makes its import fail

import django
from django.conf import settings

settings.configure(
    DATABASES={{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}}},
    INSTALLED_APPS=[
        "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.messages",
        "django.contrib.sessions", "rest_framework", "django_filters", "django_jobqueue",
    ],
    SECRET_KEY="only-for-this-process",
)
django.setup()

import django_jobqueue

for module in pkgutil.walk_packages(django_jobqueue.__path__, "django_jobqueue."):
    if not module.name.startswith({of_an_extra!r}):
        importlib.import_module(module.name)
        print(module.name)
"""

OF_AN_EXTRA = tuple(
    f"django_jobqueue.{module}"
    for module in ("api.schema", "backend", "client", "metrics", "outbox", "pytest_plugin", "tasks")
)
"""What may need an extra, and so is imported by nothing else."""


def test_imports_point_down():
    # In a process of its own: it disables the loggers that it finds.
    code = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    checked = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_nothing_else_needs_an_extra_to_be_imported():
    script = IMPORT_ALL.format(extras=EXTRAS, of_an_extra=OF_AN_EXTRA)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "django_jobqueue.vendors.registry" in done.stdout.split()


def test_a_handler_can_be_written_before_the_apps_are_ready():
    script = (
        "from django_jobqueue import exponential, job_handler; job_handler('x', backoff=exponential())(print)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr

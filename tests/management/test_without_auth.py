"""A project without ``django.contrib.auth``, as a service without users has it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys, types
import django
from django.conf import settings
from django.core.management import call_command

urls = sys.modules["urls_without_auth"] = types.ModuleType("urls_without_auth")
urls.urlpatterns = []
settings.configure(
    SECRET_KEY="x" * 50,
    INSTALLED_APPS=["django_jobqueue"],
    ROOT_URLCONF="urls_without_auth",
    REST_FRAMEWORK={{"UNAUTHENTICATED_USER": None, "DEFAULT_AUTHENTICATION_CLASSES": []}},
    USE_TZ=True,
    ALLOWED_HOSTS=["*"],
    DATABASES={{
        "default": {{
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": {path!r},
            "OPTIONS": {{"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL;"}},
        }}
    }},
)
django.setup()
if {mounted}:
    from django.urls import include, path
    urls.urlpatterns = [path("", include("django_jobqueue.api.urls"))]
call_command("check", fail_level="WARNING", databases=["default"])
call_command("migrate", verbosity=0)
from django_jobqueue import job_handler
from django_jobqueue.models import Job
job_handler("greet")(lambda job: "hello")
Job.objects.enqueue("greet")
call_command("runworker", drain=True, reload=False, verbosity=0)
call_command("reapstale", verbosity=0)
assert Job.objects.get().result == "hello"
if {mounted}:
    from django.test import Client
    answer = Client().get("/jobs")
    assert answer.status_code in (401, 403), answer.content
"""


@pytest.mark.parametrize("mounted", [False, True])
def test_check_migrate_and_workers_run_and_the_protocol_is_closed(tmp_path, mounted):
    script = SCRIPT.format(path=str(tmp_path / "db.sqlite3"), mounted=mounted)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr

"""``runworker --reload`` in a small project of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import wait_until

ROOT = Path(__file__).parents[2]

SETTINGS = """
SECRET_KEY = "x" * 50
INSTALLED_APPS = ["django_jobqueue", "app"]
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "db.sqlite3",
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL;"},
    }
}
LOGGING = {
    "version": 1,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {name: {"handlers": ["console"], "level": "INFO"} for name in ("django", "django_jobqueue")},
}
"""
FINE = """
from django_jobqueue import job_handler

@job_handler("say")
def say(job):
    open("said", "a").write("{word} ")
"""


@pytest.mark.parametrize(
    "broken",
    ["def say(job:", "import a_module_that_is_not_there", "1 / 0"],
    ids=["syntax", "import", "error"],
)
def test_after_a_change_that_breaks_the_code_it_waits_for_the_repair(tmp_path: Path, broken: str):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").touch()
    (tmp_path / "settings.py").write_text(SETTINGS)
    jobs = tmp_path / "app" / "jobs.py"
    jobs.write_text(FINE.format(word="old"))
    log = tmp_path / "log"
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
        "DJANGO_SETTINGS_MODULE": "settings",
    }
    options = {"cwd": tmp_path, "env": {**environment, "PYTHONDONTWRITEBYTECODE": "1"}}
    django = [sys.executable, "-m", "django"]
    subprocess.run([*django, "migrate", "-v0"], check=True, **options)
    enqueue = (
        "import django; django.setup(); from django_jobqueue.models import Job; Job.objects.enqueue('say')"
    )

    with log.open("w") as output:
        worker = subprocess.Popen(
            [*django, "runworker", "--reload", "--poll-interval=0.1"], stdout=output, stderr=output, **options
        )
    try:
        subprocess.run([sys.executable, "-c", enqueue], check=True, **options)
        wait_until((tmp_path / "said").exists, 60)

        def waits() -> bool:
            jobs.write_text(
                broken
            )  # again: the watcher may not have looked at the file before it was changed
            return "waiting for the next change" in log.read_text()

        wait_until(waits, 60, interval=1.5)
        assert worker.poll() is None
        jobs.write_text(FINE.format(word="new"))
        subprocess.run([sys.executable, "-c", enqueue], check=True, **options)
        wait_until(lambda: (tmp_path / "said").read_text() == "old new ", 60)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0
    finally:
        worker.kill()
        worker.wait()

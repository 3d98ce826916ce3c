"""What the app does when Django starts, in a process of its own for each answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

STARTED = """
import sys
sys.path.append(PROBE)
from example_project import settings as shop
from django.conf import settings
given = {n: getattr(shop, n) for n in dir(shop) if n.isupper()}
settings.configure(**{**given, "INSTALLED_APPS": [*shop.INSTALLED_APPS, "probe"], **OWN})
import django
from django.core.management import call_command
django.setup()
print("probe.jobs" in sys.modules)
call_command("check")
"""


def start(folder: Path, **own: object) -> subprocess.CompletedProcess[str]:
    (folder / "probe").mkdir()
    for module in ("__init__", "jobs"):
        (folder / "probe" / f"{module}.py").touch()
    return subprocess.run(
        [sys.executable, "-c", f"OWN, PROBE = {own!r}, {str(folder)!r}{STARTED}"],
        env={**os.environ, "DATABASE_URL": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=150,
    )


@pytest.mark.parametrize(
    ("options", "imported"),
    [({}, True), ({"AUTODISCOVER": True}, True), ({"AUTODISCOVER": False}, False)],
)
def test_modules_named_jobs_are_imported_unless_the_project_says_no(
    options: dict, imported: bool, tmp_path: Path
):
    done = start(tmp_path, JOBQUEUE=options)
    assert done.stdout.splitlines()[0] == str(imported), done.stderr


@pytest.mark.parametrize("options", [{"AUTODISCOVER": "no"}, {"AUTODISCOVER": None}, 5])
def test_what_is_no_answer_is_an_error_of_the_checks(options: object, tmp_path: Path):
    done = start(tmp_path, JOBQUEUE=options)
    assert "django_jobqueue.E001" in done.stderr
    assert "JOBQUEUE" in done.stderr


@pytest.mark.parametrize(
    "tasks", [[], ["default"], None, 5, {"default": {}}, {"default": {"QUEUES": []}}, {"default": None}]
)
def test_a_setting_of_tasks_that_is_none_gets_no_traceback_of_ours(tasks: object, tmp_path: Path):
    done = start(tmp_path, TASKS=tasks)
    frames = [line for line in done.stderr.splitlines() if line.lstrip().startswith("File ")]
    assert "django_jobqueue/" not in "".join(frames[-1:])

"""Commands on a database that is away, is not there or has no tables: a sentence, a code, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]
SCHEMES = {"postgresql": "postgres", "mysql": "mysql"}
UPKEEP = [["reapstale"], ["prunejobs", "--older-than=1"], ["pruneexecutions"], ["reapstale", "--dry-run"]]
DRAIN = ["runworker", "--drain", "--no-reload"]


def url(tmp_path: Path, *, name: str | None = None, user: str | None = None, port: int | None = None) -> str:
    """The ``DATABASE_URL`` of the database of the tests with something else in it."""
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{tmp_path / (name or 'absent/none.sqlite3')}"
    given = [user or settings["USER"], *([settings["PASSWORD"]] if settings["PASSWORD"] else [])]
    login = ":".join(quote(part, safe="") for part in given)
    address = f"{settings['HOST']}:{port or settings['PORT']}"
    empty = {"postgresql": "postgres", "mysql": "mysql"}[connection.vendor]
    return f"{SCHEMES[connection.vendor]}://{login}@{address}/{name or empty}"


def manage(database: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env={**os.environ, "DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": "example_project.settings"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=150,
    )


def refused_with(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("CommandError: ")
    assert len(done.stderr.strip().splitlines()) == 1
    return done.stderr


@pytest.mark.parametrize("command", [*UPKEEP, DRAIN], ids=" ".join)
def test_a_database_without_migrations_is_told_in_a_sentence(command: list[str], tmp_path: Path):
    name = "empty.sqlite3" if connection.vendor == "sqlite" else None
    assert "Run 'manage.py migrate' first" in refused_with(manage(url(tmp_path, name=name), *command))


@pytest.mark.parametrize("command", [*UPKEEP, DRAIN], ids=" ".join)
def test_a_database_that_does_not_answer_is_told_in_a_sentence(command: list[str], tmp_path: Path):
    assert "The jobs' database" in refused_with(manage(url(tmp_path, port=1), *command))


@pytest.mark.parametrize("change", [{"name": "absent_jobqueue/none"}, {"user": "nobody_of_jobqueue"}])
def test_a_worker_ends_where_there_is_no_such_database_or_login(change: dict[str, str], tmp_path: Path):
    done = manage(url(tmp_path, **change), "runworker", "--no-reload")
    assert "The jobs' database cannot be used" in refused_with(done)


def test_a_file_that_is_no_database_ends_the_worker(tmp_path: Path):
    if connection.vendor != "sqlite":
        return
    (tmp_path / "notes.txt").write_text("no database at all, but long enough to be read as one\n" * 40)
    done = manage(url(tmp_path, name="notes.txt"), "runworker", "--no-reload")
    assert "The jobs' database cannot be used" in refused_with(done)

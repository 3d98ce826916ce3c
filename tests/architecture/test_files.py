"""What every file keeps to."""

from __future__ import annotations

import re
import tokenize
from pathlib import Path
from token import NAME, STRING

import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "django_jobqueue"
FOLDERS = ["django_jobqueue", "example_project", "tests", "examples", "benchmarks"]
LONGEST = 400

DATABASE = re.compile(
    r"""['"]?[\w.]*(sqlite|postgres|psycopg|mysql|mariadb|oracle)[\w.]*['"]?""", re.IGNORECASE
)
"""A name or a one-word text. Prose may say what is true of one database; code may not ask which one it is."""


def sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_no_file_is_longer_than_one_can_read_at_once():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources(*FOLDERS)}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def names_and_texts(path: Path) -> list[str]:
    with path.open("rb") as file:
        return [token.string for token in tokenize.tokenize(file.readline) if token.type in (NAME, STRING)]


def test_only_vendors_name_a_database():
    named = {
        str(path.relative_to(APP)): list(filter(DATABASE.fullmatch, names_and_texts(path)))
        for path in sources("django_jobqueue")
        if APP / "vendors" not in path.parents
    }
    assert {path: names for path, names in named.items() if names} == {}


@pytest.mark.django_db
def test_the_migrations_are_those_of_the_models():
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_every_module_says_what_it_is():
    silent = [
        str(path.relative_to(APP))
        for path in sources("django_jobqueue")
        if path.read_text().strip() and not path.read_text().lstrip().startswith('"""')
    ]
    assert [path for path in silent if "migrations/" not in path] == []

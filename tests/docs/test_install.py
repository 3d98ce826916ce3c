"""Every way to install that a page or a message names exists: this package comes from a clone, others from PyPI."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "django_jobqueue").rglob("*.py")),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_text_installs_this_package_from_an_index(file: Path):
    assert re.findall(r"pip install [^`\n]*?(?<![./\w])django[-_]jobqueue\b.*", file.read_text()) == []

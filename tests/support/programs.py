"""Programs that a test runs and that need not be installed."""

from __future__ import annotations

import shutil

import pytest


def need(*programs: str) -> None:
    """Skip the test where one of ``programs`` is not installed, and name it."""
    if missing := [program for program in programs if not shutil.which(program)]:
        pytest.skip(f"not installed: {', '.join(missing)}")

"""The test kit as fixtures of pytest. They need pytest-django for the database."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest


def _kit(name: str) -> Callable[..., Any]:
    # Not before Django is set up, which pytest loads plugins long before.
    function: Callable[..., Any] = getattr(import_module("django_jobqueue.testing"), name)
    return function


@pytest.fixture
def run_jobs(db: None) -> Callable[..., Any]:
    """``django_jobqueue.testing.run_jobs``."""
    return _kit("run_jobs")


@pytest.fixture
def travel(db: None) -> Callable[..., Any]:
    """``django_jobqueue.testing.travel``."""
    return _kit("travel")


@pytest.fixture
def assert_enqueued(db: None) -> Callable[..., Any]:
    """``django_jobqueue.testing.assert_enqueued``."""
    return _kit("assert_enqueued")


@pytest.fixture
def refute_enqueued(db: None) -> Callable[..., Any]:
    """``django_jobqueue.testing.refute_enqueued``."""
    return _kit("refute_enqueued")


@pytest.fixture
def assert_runs_once(transactional_db: None) -> Callable[..., Any]:
    """``django_jobqueue.testing.assert_runs_once``, in a test whose writes are committed."""
    return _kit("assert_runs_once")

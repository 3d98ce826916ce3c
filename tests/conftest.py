"""What all tests share. A test that needs a database server which is not there skips and says so; with
``JOBQUEUE_NO_SKIP=1`` (in CI) a skipped test fails the run.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest
from django.db import connection

from django_jobqueue import conf
from django_jobqueue.models import Job
from tests.support.processes import Processes


def _missing_server() -> str:
    settings = connection.settings_dict
    if settings["ENGINE"].endswith("sqlite3"):
        return ""
    port = int(settings["PORT"] or {"postgresql": 5432, "mysql": 3306}[connection.vendor])
    try:
        socket.create_connection((settings["HOST"] or "localhost", port), timeout=5).close()
    except OSError as error:
        return f"DATABASE_URL names a server that is not there: {error}"
    return ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if reason := _missing_server():
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if _skipped and os.environ.get("JOBQUEUE_NO_SKIP") == "1":
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def _fresh_settings() -> Iterator[None]:
    conf.settings.cache_clear()
    yield
    conf.settings.cache_clear()


@pytest.fixture
def jobs(db: None) -> type[Job.objects]:
    """``Job.objects`` in a test that is rolled back."""
    return Job.objects


@pytest.fixture
def processes(transactional_db: None) -> Iterator[Processes]:
    """Real processes on the committed test database; all are ended after the test."""
    started = Processes()
    yield started
    started.stop()

"""What all tests share. A test that needs a database server which is not there skips and says so; with
``JOBQUEUE_NO_SKIP=1`` (in CI) a skipped test fails the run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.utils import OperationalError

from django_jobqueue import conf
from django_jobqueue.models import Job
from tests.support.processes import Processes


def _missing_server() -> str:
    if connection.settings_dict["ENGINE"].endswith("sqlite3"):
        return ""
    settings = connection.settings_dict
    name = settings["NAME"]
    try:
        with connection._nodb_cursor():
            return ""
    except OperationalError as error:
        return f"no {connection.display_name} for DATABASE_URL ({settings['HOST']}:{settings['PORT']}, {name}): {error}"


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

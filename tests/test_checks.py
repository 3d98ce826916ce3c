"""System checks: what would make the queue unsafe is said before it runs."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from django.core import checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection, connections
from django.test import override_settings

from django_jobqueue.checks import (
    check_command_names,
    check_databases,
    check_settings,
    database_problems,
)


def ids(found: list[checks.CheckMessage]) -> list[str | None]:
    return [message.id for message in found]


def test_the_test_projects_own_settings_pass():
    assert check_settings(None) == []


@override_settings(JOBQUEUE={"MAX_RETRY": 1, "LEASE_SECONDS": -1})
def test_every_bad_option_is_an_error():
    found = check_settings(None)
    assert ids(found) == ["django_jobqueue.E001"] * 2
    assert found[0].msg == "JOBQUEUE has no option 'MAX_RETRY'. Did you mean 'MAX_RETRIES'?"


@override_settings(JOBQUEUE={"MAX_RETRY": 1})
def test_manage_check_stops_at_a_bad_option():
    with pytest.raises(SystemCheckError, match="Did you mean 'MAX_RETRIES'"):
        call_command("check")


@override_settings(JOBQUEUE=["MAX_RETRIES"])
def test_a_setting_that_is_no_dict_is_an_error():
    assert ids(check_settings(None)) == ["django_jobqueue.E001"]


@override_settings(USE_TZ=False)
def test_times_without_zones_are_an_error():
    assert ids(check_settings(None)) == ["django_jobqueue.E002"]


@pytest.mark.parametrize("option", ["LEASE_SECONDS", "API_LEASE_SECONDS"])
def test_a_lease_longer_than_the_longest_is_an_error(option):
    with override_settings(JOBQUEUE={option: 700, "MAX_LEASE_SECONDS": 650}):
        assert ids(check_settings(None)) == ["django_jobqueue.E003"]


@override_settings(JOBQUEUE={"LEASE_SECONDS": 5})
def test_a_very_short_lease_is_a_warning():
    assert ids(check_settings(None)) == ["django_jobqueue.W001"]


def test_a_runworker_of_another_app_is_a_warning(tmp_path, monkeypatch):
    commands = tmp_path / "otherqueue" / "management" / "commands"
    commands.mkdir(parents=True)
    for folder in (commands, commands.parent, commands.parent.parent):
        (folder / "__init__.py").touch()
    (commands / "runworker.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    with override_settings(INSTALLED_APPS=["otherqueue", "django_jobqueue"]):
        [warning] = check_command_names(None)
    assert warning.id == "django_jobqueue.W002"
    assert warning.msg.startswith(
        "otherqueue has a runworker command too; 'manage.py runworker' runs that of"
    )
    assert "jobqueue_worker" in warning.hint
    sys.modules.pop("otherqueue", None)


def test_without_another_runworker_there_is_no_warning():
    assert check_command_names(None) == []


def test_the_database_is_only_asked_when_it_is_checked():
    assert check_databases(None) == []
    assert check_databases(None, databases=["other"]) == []


@pytest.mark.django_db
def test_the_test_database_is_fit():
    assert check_databases(None, databases=["default"]) == []


@pytest.fixture
def another(db: None) -> Any:
    """A second connection to the test database, with other settings: ``another(OPTIONS={...})``."""
    made = []

    def make(**changes: Any) -> str:
        copy = connection.copy(alias="another")
        options = {**copy.settings_dict["OPTIONS"], **changes.pop("OPTIONS", {})}
        copy.settings_dict = {**copy.settings_dict, **changes, "OPTIONS": options}
        connections["another"] = copy
        made.append(copy)
        return "another"

    yield make
    for copy in made:
        copy.close()
        del connections["another"]


@pytest.mark.django_db
def test_an_unsupported_database_is_an_error(another, monkeypatch):
    alias = another()
    monkeypatch.setattr(connections[alias], "vendor", "oracle")
    monkeypatch.setattr(connections[alias], "display_name", "Oracle")
    [error] = database_problems(alias)
    assert error.id == "django_jobqueue.E010"
    assert "does not support Oracle" in error.msg


@pytest.mark.django_db
def test_an_isolation_above_read_committed_is_said(another):
    levels = {
        "sqlite": {"transaction_mode": "DEFERRED"},
        "mysql": {"isolation_level": "repeatable read"},
        "postgresql": {"isolation_level": 3},  # psycopg.IsolationLevel.REPEATABLE_READ
    }
    [message] = database_problems(another(OPTIONS=levels[connection.vendor]))
    expected = {"sqlite": "take the write lock", "mysql": "repeatable read", "postgresql": "repeatable read"}
    assert expected[connection.vendor] in message.msg


@pytest.mark.django_db
def test_a_time_zone_of_the_database_is_an_error_where_it_changes_what_is_stored(another):
    found = database_problems(another(TIME_ZONE="Asia/Tokyo"))
    stores_zones = connection.features.supports_timezones and connection.vendor == "postgresql"
    assert ids(found) == ([] if stores_zones else ["django_jobqueue.E011"])

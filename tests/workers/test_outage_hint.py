"""What the log says of a pooler that does not track prepared statements."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.db import DatabaseError, OperationalError, connection
from django.test import override_settings

from django_jobqueue.vendors import poolers, vendor_for
from django_jobqueue.workers.outage import Outage


@pytest.mark.parametrize(
    "message",
    [
        'prepared statement "_pg3_0" already exists',
        'prepared statement "_pg3_12" does not exist',
    ],
)
def test_a_lost_prepared_statement_is_told_with_the_setting_that_helps(caplog, message):
    Outage().note(DatabaseError(message))
    assert "JOBQUEUE['PREPARED_STATEMENTS'] to False" in caplog.text


def test_other_failures_are_told_without_it(caplog):
    Outage().note(OperationalError("connection refused"))
    assert "PREPARED_STATEMENTS" not in caplog.text


if connection.vendor == "postgresql":

    @pytest.mark.django_db
    def test_a_check_names_the_setting_behind_a_pooler_alone(monkeypatch):
        vendor = vendor_for(connection)
        assert not [text for _, text in vendor.problems(connection) if "pooler" in text]
        monkeypatch.setattr(poolers, "is_pooled", lambda connection: True)
        ((level, text),) = vendor.problems(connection)
        assert level == "warning" and "JOBQUEUE['PREPARED_STATEMENTS'] to False" in text
        with override_settings(JOBQUEUE={**getattr(settings, "JOBQUEUE", {}), "PREPARED_STATEMENTS": False}):
            assert not vendor.problems(connection)

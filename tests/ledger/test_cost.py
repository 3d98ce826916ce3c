"""How many statements an effect costs, on every database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from django_jobqueue import once
from django_jobqueue.exceptions import ExecutionInProgress

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "invoice:42"
CONTROL = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")


def statements(call: Callable[[], Any]) -> list[str]:
    """The verbs of what ``call`` sends, in order."""
    connection.ensure_connection()
    with CaptureQueriesContext(connection) as captured:
        call()
    return [query["sql"].split()[0].upper() for query in captured.captured_queries]


def test_an_effect_costs_three_statements():
    assert statements(lambda: once(KEY, list)) == ["SELECT", "INSERT", "UPDATE"]


def test_a_replay_costs_one_statement():
    once(KEY, list)
    assert statements(lambda: once(KEY, list)) == ["SELECT"]


def test_a_take_over_costs_three_statements(left_open):
    left_open(KEY)
    assert statements(lambda: once(KEY, list)) == ["SELECT", "UPDATE", "UPDATE"]


def test_finding_an_effect_in_progress_costs_one_statement(left_open):
    left_open(KEY, seconds=20)

    def wait():
        with pytest.raises(ExecutionInProgress):
            once(KEY, list)

    assert statements(wait) == ["SELECT"]


def test_an_atomic_effect_costs_three_statements_and_its_transaction():
    sent = statements(lambda: once(KEY, list, atomic=True))
    assert [verb for verb in sent if verb not in CONTROL] == ["SELECT", "INSERT", "UPDATE"]


def test_a_replay_of_an_atomic_effect_begins_no_transaction():
    once(KEY, list, atomic=True)
    assert statements(lambda: once(KEY, list, atomic=True)) == ["SELECT"]


def test_a_replay_inside_a_transaction_costs_one_statement():
    once(KEY, list)
    with transaction.atomic():
        assert statements(lambda: once(KEY, list, atomic=True)) == ["SELECT"]

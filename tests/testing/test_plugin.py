"""The fixtures that pytest finds by itself."""

from __future__ import annotations

from django.db import connection

from django_jobqueue import testing
from tests.testing import handlers


def test_the_kit_is_there_as_fixtures(run_jobs, travel, assert_enqueued, refute_enqueued):
    handlers.naive.enqueue(name="order")
    assert_enqueued(handlers.naive, {"name": "order"}, count=1)
    assert run_jobs() == {"completed": 1}
    refute_enqueued(handlers.naive)
    assert travel is testing.travel


def test_the_fixtures_bring_a_test_into_a_transaction(run_jobs):
    assert connection.in_atomic_block


def test_the_fixture_that_needs_commits_has_them(assert_runs_once):
    assert not connection.in_atomic_block
    assert assert_runs_once is testing.assert_runs_once

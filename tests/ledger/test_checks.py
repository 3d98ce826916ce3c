from __future__ import annotations

from django_jobqueue.checks import check_atomic_handlers
from tests.support import effects  # noqa: F401 - registers an atomic handler

ELSEWHERE = ["tests.ledger.test_transactions.ElsewhereRouter"]


def test_atomic_handlers_are_an_error_where_the_jobs_are_in_another_database(settings):
    settings.DATABASE_ROUTERS = ELSEWHERE
    (error,) = check_atomic_handlers(None)
    assert error.id == "django_jobqueue.E012"
    assert "test.atomic" in error.msg
    assert "puts jobs into 'queue'" in error.msg


def test_atomic_handlers_are_fine_where_the_jobs_are_in_the_default_database():
    assert check_atomic_handlers(None) == []


def test_without_atomic_handlers_the_jobs_may_be_in_any_database(settings, monkeypatch):
    settings.DATABASE_ROUTERS = ELSEWHERE
    monkeypatch.setattr("django_jobqueue.registry._handlers", {})
    assert check_atomic_handlers(None) == []

"""How a worker finds what runs a job: the registered handler of its type first, then who else knows it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from django_jobqueue import registry
from django_jobqueue.registry import Handler
from django_jobqueue.tasks.resolve import resolve

JOB = SimpleNamespace(type="test.unregistered", meta={}, fencing_token=1, idempotency_key=None)


@pytest.fixture
def resolvers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    mine: list[Any] = []
    monkeypatch.setattr(registry, "_resolvers", mine)
    return mine


def knows(job: Any) -> Handler:
    return Handler(type=job.type, function=print)


def test_the_app_has_registered_the_one_for_tasks():
    assert resolve in registry._resolvers


def test_a_job_that_nobody_knows_has_no_handler(resolvers: list[Any]):
    registry.add_resolver(lambda job: None)
    assert registry.resolve(JOB) is None


def test_the_first_resolver_that_knows_a_job_has_it(resolvers: list[Any]):
    registry.add_resolver(lambda job: None)
    registry.add_resolver(knows)
    assert registry.resolve(JOB) == knows(JOB)


def test_a_registered_handler_comes_first(resolvers: list[Any]):
    registry.add_resolver(knows)
    job = SimpleNamespace(type="test.noop")
    assert registry.resolve(job) is registry.get("test.noop")


def test_a_resolver_is_added_once(resolvers: list[Any]):
    registry.add_resolver(knows)
    registry.add_resolver(knows)
    assert resolvers == [knows]


def test_a_job_without_the_mark_of_a_task_is_none():
    assert resolve(JOB) is None

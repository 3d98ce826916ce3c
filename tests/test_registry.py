"""The handlers of this process."""

from __future__ import annotations

import functools
from datetime import timedelta

import pytest

from django_jobqueue import job_handler, registry


@pytest.fixture
def made():
    types: list[str] = []
    yield types.append
    for type in types:
        registry.unregister(type)


def test_a_handler_is_found_by_its_type(made):
    made("test.registered")

    @job_handler(
        "test.registered", queue="mail", priority="high", max_retries=5, timeout=timedelta(minutes=1)
    )
    def send(job):
        """Never called."""

    found = registry.get("test.registered")
    assert found is send
    assert (found.queue, found.priority, found.max_retries, found.timeout) == ("mail", "high", 5, 60.0)
    assert "test.registered" in registry.types()


def test_an_unknown_type_has_no_handler():
    assert registry.get("test.unknown") is None


def test_calling_a_handler_calls_the_function(made):
    made("test.registered")

    @job_handler("test.registered")
    def add(job, *, one, other):
        return one + other

    assert add(None, one=1, other=2) == 3


def test_an_async_function_is_known_as_such(made):
    made("test.async")

    @job_handler("test.async")
    async def send(job):
        """Never called."""

    assert send.is_async


def test_two_functions_cannot_handle_one_type(made):
    made("test.registered")

    @job_handler("test.registered")
    def one(job):
        """Never called."""

    with pytest.raises(
        ValueError, match=r"type: 'test.registered' is handled by .*one already; .*other needs"
    ):

        @job_handler("test.registered")
        def other(job):
            """Never called."""

    assert registry.get("test.registered") is one


def test_a_module_that_is_loaded_again_replaces_its_handler(made):
    made("test.registered")

    def load(queue):
        @job_handler("test.registered", queue=queue)
        def send(job):
            """Never called."""

        return send

    load("a")
    again = load("b")
    assert registry.get("test.registered") is again


def test_a_callable_without_a_name_can_handle(made):
    made("test.partial")
    handler = job_handler("test.partial")(functools.partial(dict, a=1))
    assert handler() == {"a": 1}


@pytest.mark.parametrize("type", ["", "  ", "x" * 201, None, 5])
def test_a_type_is_a_text(type):
    with pytest.raises(ValueError, match="type: "):
        job_handler(type)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), timedelta(0), timedelta(seconds=-5)])
def test_a_timeout_is_positive(timeout):
    with pytest.raises(ValueError, match="timeout: "):
        job_handler("test.registered", timeout=timeout)


def test_a_backoff_that_cannot_be_loaded_is_refused_at_once():
    with pytest.raises(ImportError):
        job_handler("test.registered", backoff="gone.module.backoff")(print)
    assert registry.get("test.registered") is None


def test_choices_that_are_left_out_are_not_made():
    order = registry.Handler(type="test.chosen", function=print).using(priority=0, queue=None)
    assert order.choices == {"priority": 0}


def test_the_jobs_modules_of_apps_are_found():
    assert {"test.noop", "test.echo"} <= set(registry.types())

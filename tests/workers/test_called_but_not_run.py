"""Handlers that are called but do not run, and groups of exceptions that all say the same."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from django_jobqueue import Cancelled, PermanentFailure, RetryLater, Snooze, job_handler, registry
from django_jobqueue.workers.execute import completed, outcome_of
from django_jobqueue.workers.outcome import Failed, Released


@pytest.fixture(autouse=True)
def _own_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_handlers", {})


async def coroutine(job: Any) -> None:
    pass


def generator(job: Any) -> Iterator[None]:
    yield


async def async_generator(job: Any) -> Any:
    yield


class AsyncCall:
    async def __call__(self, job: Any) -> None:
        pass


def plain_decorator(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    "function",
    [
        generator,
        async_generator,
        AsyncCall(),
        partial(generator),
        partial(async_generator),
        partial(AsyncCall()),
    ],
)
def test_what_a_call_would_only_create_is_refused(function: Callable[..., Any]):
    with pytest.raises(ValueError, match="function: "):
        job_handler("t")(function)


def test_a_partial_of_an_async_function_and_an_async_method_are_handlers():
    assert job_handler("one")(partial(coroutine)).is_async
    assert job_handler("two")(AsyncCall().__call__).is_async


@pytest.mark.parametrize("function", [coroutine, generator, async_generator])
def test_a_returned_coroutine_or_generator_is_a_failure_that_says_so(function: Callable[..., Any]):
    hidden = functools.wraps(function)(lambda job: function(job))
    outcome = completed(hidden(None))
    assert isinstance(outcome, Failed)
    assert "nothing of it has run" in outcome.failure.error
    assert not outcome.failure.retryable


def test_two_handlers_of_one_type_behind_a_decorator_without_wraps_are_refused():
    job_handler("t")(plain_decorator(coroutine))
    job_handler("t")(plain_decorator(coroutine))  # the same one again, as an import again makes it
    with pytest.raises(ValueError, match="is handled by"):
        job_handler("t")(plain_decorator(generator))


@pytest.mark.parametrize("nested", [False, True])
def test_a_group_whose_leaves_all_say_the_same_means_that(nested: bool):
    def group(*leaves: Exception) -> Exception:
        return ExceptionGroup("all", [ExceptionGroup("some", leaves)] if nested else leaves)

    permanent = outcome_of(group(PermanentFailure("a"), PermanentFailure("b")))
    assert isinstance(permanent, Failed)
    assert not permanent.failure.retryable
    cancelled = outcome_of(group(Cancelled("a"), Cancelled("b")))
    assert isinstance(cancelled, Failed)
    assert cancelled.failure.outcome == "cancelled"
    later = outcome_of(group(RetryLater(5), RetryLater(7)))
    assert isinstance(later, Failed)
    assert later.failure.retry_in == 7
    snoozed = outcome_of(group(Snooze(5), Snooze(3)))
    assert isinstance(snoozed, Released)
    assert snoozed.delay == 5
    mixed = outcome_of(group(PermanentFailure("a"), ValueError("b")))
    assert isinstance(mixed, Failed)
    assert mixed.failure.retryable

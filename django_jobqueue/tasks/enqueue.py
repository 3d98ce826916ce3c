"""Many calls of one task at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from asgiref.sync import sync_to_async
from django.views.decorators.debug import sensitive_variables

if TYPE_CHECKING:
    from django.tasks.base import Task, TaskResult

R = TypeVar("R")

Call = Sequence[Any] | Mapping[str, Any]
"""The arguments of one call: the positional ones in a sequence, or all by name in a mapping."""


@sensitive_variables()
def enqueue_many(task: Task[..., R], calls: Iterable[Call]) -> list[TaskResult[..., R]]:
    """Enqueue ``task`` once for each of ``calls``, all or none; returns the results in the same order.

    One INSERT up to 1000 calls. Raises what ``task.enqueue`` raises, with the number of the call in the name
    of the argument. A backend of another kind gets the calls one by one.
    """
    arguments = [_arguments(index, call) for index, call in enumerate(calls)]
    backend: Any = task.get_backend()
    if hasattr(backend, "enqueue_many"):
        results: list[TaskResult[..., R]] = backend.enqueue_many(task, arguments)
        return results
    return [task.enqueue(*args, **kwargs) for args, kwargs in arguments]


async def aenqueue_many(task: Task[..., R], calls: Iterable[Call]) -> list[TaskResult[..., R]]:
    """``enqueue_many`` for async code."""
    return await sync_to_async(enqueue_many)(task, list(calls))


def _arguments(index: int, call: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
    if isinstance(call, Mapping):
        return (), call
    if isinstance(call, Sequence) and not isinstance(call, str | bytes):
        return call, {}
    raise TypeError(
        f"calls[{index}]: {type(call).__name__} is neither a sequence of positional arguments nor a mapping of "
        "named ones."
    )

"""The handlers of this process, by job type."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.apps import apps
from django.views.decorators.debug import sensitive_variables

from django_jobqueue import backoff as backoffs
from django_jobqueue.backoff import Backoff

OWN_PREFIX = "jobqueue."
"""How the types of this app's own handlers begin (those of the outbox)."""

LEAST_MEMORY = 16 * 1024 * 1024
"""The smallest memory limit. With less a handler could hardly connect to a database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """A function that runs the jobs of one type, with the defaults of those jobs.

    Calling it calls the function itself, with no queue in between. ``timeout`` is in seconds of run time,
    ``memory_limit`` in bytes. ``is_async`` tells whether the function runs on the worker's event loop, which an
    isolated one never does.
    """

    type: str
    function: Callable[..., Any]
    queue: str = "default"
    priority: int | str = 0
    max_retries: int | None = None
    backoff: Backoff | None = None
    timeout: float | None = None
    is_async: bool = False
    atomic: bool = False
    isolate: bool = False
    memory_limit: int | None = None
    keep_completed: bool | None = None
    sensitive: frozenset[str] = frozenset()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def using(
        self,
        *,
        queue: str | None = None,
        priority: int | str | None = None,
        max_retries: int | None = None,
        backoff: Backoff | str | None = None,
        idempotency_key: str | None = None,
        run_at: datetime | timedelta | None = None,
        meta: dict[str, Any] | None = None,
        database: str | None = None,
    ) -> Order:
        """The same handler with other choices for the jobs enqueued through what is returned."""
        given = {
            "queue": queue,
            "priority": priority,
            "max_retries": max_retries,
            "backoff": backoff,
            "idempotency_key": idempotency_key,
            "run_at": run_at,
            "meta": meta,
        }
        return Order(self.type, {k: v for k, v in given.items() if v is not None}, database)

    @sensitive_variables()
    def enqueue(self, /, **payload: Any) -> Any:
        """Enqueue a job of this type with ``payload``; returns the ``Job``."""
        return Order(self.type).enqueue(**payload)


@dataclass(frozen=True, slots=True)
class Order:
    """A job type with choices made for the next jobs; see ``Handler.using``."""

    type: str
    choices: dict[str, Any] = field(default_factory=dict)
    database: str | None = None

    @sensitive_variables()
    def enqueue(self, /, **payload: Any) -> Any:
        """Enqueue a job with ``payload`` and these choices; returns the ``Job``."""
        jobs = apps.get_model("django_jobqueue", "Job").objects
        if self.database is not None:
            jobs = jobs.db_manager(self.database)
        return jobs.enqueue(self.type, payload, **self.choices)


_handlers: dict[str, Handler] = {}


def job_handler(
    type: str,
    *,
    queue: str = "default",
    priority: int | str = 0,
    max_retries: int | None = None,
    backoff: Backoff | str | None = None,
    timeout: float | timedelta | None = None,
    atomic: bool = False,
    isolate: bool = False,
    memory_limit: int | None = None,
    keep_completed: bool | None = None,
    sensitive: Collection[str] = (),
) -> Callable[[Callable[..., Any]], Handler]:
    """Register a function, plain or ``async``, as the handler of the jobs of ``type``.

    The function is called with a ``RunningJob`` and the payload's entries as keyword arguments. A module
    named ``jobs`` in any installed app is imported at start, so handlers written there are found.
    With ``atomic`` the function, its writes to the default database and the job's completion are one
    transaction. With ``isolate`` it runs in a process of its own, which a crash ends alone, and which may take
    up to ``memory_limit`` bytes more than the worker has. ``keep_completed=False`` lets the
    worker delete completed jobs instead of keeping them until they are pruned (never jobs with a key); left
    out, ``KEEP_COMPLETED`` says. ``sensitive`` names entries of the payload that only workers see: the API,
    the admin and the errors that they show have them masked. Raises ``ValueError`` when another function
    already handles the type.
    """
    if not isinstance(type, str) or not type.strip() or len(type) > 200:
        raise ValueError(f"type: {type!r} is not a text of 1 to 200 characters.")
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if seconds is not None and not seconds > 0:
        raise ValueError(f"timeout: {timeout!r} is not a positive time.")
    _check_isolation(isolate, memory_limit, atomic)
    if isinstance(sensitive, str) or not all(isinstance(name, str) and name for name in sensitive):
        raise ValueError(f"sensitive: {sensitive!r} is not a list of names.")

    def register(function: Callable[..., Any]) -> Handler:
        _check_runs(function)
        if atomic and inspect.iscoroutinefunction(function):
            raise ValueError("atomic: an async handler cannot be; Django's transactions are not async.")
        handler = Handler(
            type=type,
            function=function,
            queue=queue,
            priority=priority,
            max_retries=max_retries,
            backoff=backoffs.resolve(backoff),
            timeout=seconds,
            is_async=inspect.iscoroutinefunction(function) and not isolate,
            atomic=atomic,
            isolate=isolate,
            memory_limit=memory_limit,
            keep_completed=keep_completed,
            sensitive=frozenset(sensitive),
        )
        known = _handlers.get(type)
        if known is not None and _origin(known.function) != _origin(function):
            raise ValueError(
                f"type: {type!r} is handled by {'.'.join(_origin(known.function))} already; "
                f"{'.'.join(_origin(function))} needs a type of its own."
            )
        _handlers[type] = handler
        return handler

    return register


def _check_runs(function: Callable[..., Any]) -> None:
    """Refuse what a call would only create. What a decorator hides is found when the job runs."""
    called = function.func if isinstance(function, partial) else function
    for each in (function, type(called).__call__):
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise ValueError(
                "function: a generator cannot be a handler; calling it runs nothing. Remove the yield."
            )
    if not inspect.iscoroutinefunction(function) and inspect.iscoroutinefunction(type(called).__call__):
        raise ValueError(
            "function: an object whose __call__ is async cannot be a handler; give its bound method __call__."
        )


def _check_isolation(isolate: bool, memory_limit: int | None, atomic: bool) -> None:
    if isolate and atomic:
        raise ValueError(
            "isolate: an atomic handler runs in the worker's process; use job.complete_in_transaction() in the "
            "isolated handler instead of atomic=True."
        )
    if memory_limit is None:
        return
    if not isolate:
        raise ValueError("memory_limit: only a process can be limited; add isolate=True.")
    if isinstance(memory_limit, bool) or not isinstance(memory_limit, int) or memory_limit < LEAST_MEMORY:
        raise ValueError(
            f"memory_limit: {memory_limit!r} is not a number of bytes from {LEAST_MEMORY} (16 MiB) on."
        )


def _origin(function: Callable[..., Any]) -> tuple[str, str]:
    """Where a function is written, which importing it again does not change."""
    name = getattr(function, "__qualname__", repr(function))
    if "<locals>" in name:  # a decorator without functools.wraps: what it wraps tells its results apart
        cells = [
            cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _is_full(cell)
        ]
        inner = [
            ".".join(_origin(value)) for value in cells if inspect.isfunction(value) and value is not function
        ]
        name += f"({', '.join(inner)})" if inner else ""
    return function.__module__, name


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty one raises
    except ValueError:
        return False
    return True


def get(type: str) -> Handler | None:
    """The handler of ``type``, or ``None``."""
    return _handlers.get(type)


def handlers() -> list[Handler]:
    """All handlers of this process."""
    return list(_handlers.values())


def types() -> list[str]:
    """The registered types, sorted."""
    return sorted(_handlers)


def unregister(type: str) -> None:
    """Forget the handler of ``type`` (for tests)."""
    _handlers.pop(type, None)


Resolver = Callable[[Any], Handler | None]
"""Given a job, the handler of one that has no registered type but can be run all the same, or ``None``."""

_resolvers: list[Resolver] = []


def add_resolver(resolver: Resolver) -> None:
    """Have ``resolver`` asked for handlers, too. What it raises fails the job; adding it again changes nothing.

    It may import what it likes: workers do not ask in the thread that renews leases.
    """
    if resolver not in _resolvers:
        _resolvers.append(resolver)


def resolve(job: Any) -> Handler | None:
    """The handler that runs ``job``: the registered one of its type, else what a resolver makes of it.

    Raises whatever an import raises.
    """
    handler = _handlers.get(job.type)
    if handler is not None:
        return handler
    return next((handler for resolver in _resolvers if (handler := resolver(job)) is not None), None)

"""The options of a task's jobs: checked when the task is made, settled when a job of it is enqueued or run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django_jobqueue.backoff import Backoff, from_meta, to_meta
from django_jobqueue.conf import settings
from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits

DEFAULTS = ("max_retries", "backoff", "timeout")
"""What ``OPTIONS`` of a backend may hold, for its tasks that do not say it themselves."""

_USING = ("max_retries", "backoff", "timeout", "atomic")
"""What ``task.using(...)`` may choose otherwise, beside what a job has columns for."""

_MAX_TIMEOUT = 366 * 86400.0


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for one job. ``timeout`` is in seconds; without a ``backoff`` the setting's is asked later."""

    max_retries: int
    backoff: Backoff | str | None
    timeout: float | None
    atomic: bool


def settle(task: Any, defaults: Mapping[str, Any]) -> Options:
    """The options of ``task``, where it says nothing those of its backend, and then those of ``JOBQUEUE``."""

    def choice(name: str) -> Any:
        own = getattr(task, name, None)  # a task that another backend declared has no options
        return defaults.get(name) if own is None else own

    max_retries = choice("max_retries")
    return Options(
        max_retries=settings().MAX_RETRIES if max_retries is None else max_retries,
        backoff=_storable(choice("backoff")),
        timeout=_seconds(choice("timeout")),
        atomic=bool(choice("atomic")),
    )


def check_options(task: Any) -> None:
    """Raises ``InvalidJob`` for the first option of ``task`` that no job can have."""
    for name in ("max_retries", "backoff", "timeout", "idempotency_key", "atomic"):
        check_option(name, getattr(task, name))
    if task.atomic and inspect.iscoroutinefunction(task.func):
        raise InvalidJob("atomic", "an async task cannot be; Django's transactions are not async.")


def check_option(name: str, value: Any) -> None:
    """Raises ``InvalidJob`` for a value that the option cannot have; ``None`` is left to others to choose."""
    match name:
        case _ if value is None:
            return
        case "max_retries":
            limits.check_integer(name, value, 0, limits.MAX_RETRIES)
        case "timeout":
            limits.check_seconds(name, _seconds(value), 0.001, _MAX_TIMEOUT)
        case "atomic" if not isinstance(value, bool):
            raise InvalidJob(name, f"must be True or False, not {value!r}.")
        case "idempotency_key" if not callable(value):
            limits.check_text(name, value, limits.KEY_LENGTH)
        case "backoff":
            try:
                to_meta(_storable(value))
            except (ImportError, ValueError) as error:
                raise InvalidJob(name, str(error).removeprefix("backoff: ")) from None


def using(task: Any, declared: Any) -> dict[str, Any]:
    """What ``task`` chose otherwise than ``declared``, the task that its path leads to, as JSON."""
    chosen: dict[str, Any] = {}
    for name in _USING:
        value = getattr(task, name, None)
        if value != getattr(declared, name, None):
            chosen[name] = _TO_JSON.get(name, _same)(value)
    return chosen


def load_using(chosen: Any) -> dict[str, Any]:
    """The inverse of ``using``: fields of a task. What ``using`` cannot have written is left out."""
    loaded: dict[str, Any] = {}
    for name, value in chosen.items() if isinstance(chosen, Mapping) else ():
        if name not in _USING:
            continue
        try:
            loaded[name] = from_meta(value) if name == "backoff" and isinstance(value, dict) else value
            check_option(name, loaded[name])
        except Exception:  # foreign JSON: a result stays readable, and the task runs as it is declared
            loaded.pop(name, None)
    return loaded


def _seconds(timeout: Any) -> Any:
    return timeout.total_seconds() if isinstance(timeout, timedelta) else timeout


def _storable(backoff: Any) -> Any:
    """A function by its path, so that a job can hold it; everything else as it is."""
    return f"{backoff.__module__}.{backoff.__qualname__}" if inspect.isfunction(backoff) else backoff


def _backoff_to_json(backoff: Any) -> Any:
    return None if backoff is None else to_meta(_storable(backoff))


def _same(value: Any) -> Any:
    return value


_TO_JSON = {"backoff": _backoff_to_json, "timeout": _seconds}

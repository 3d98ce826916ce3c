"""Where a poison can run, by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SYNC: dict[str, Callable[[], Any]] = {}
ASYNC: dict[str, Callable[[], Any]] = {}
ISOLATED: dict[str, Callable[[], Any]] = {}
NEVER = 10**6
"""Seconds that no test waits."""


def poison(function: Callable[[], Any]) -> Callable[[], Any]:
    """Runs in a thread and isolated."""
    SYNC[function.__name__] = ISOLATED[function.__name__] = function
    return function


def isolated(function: Callable[[], Any]) -> Callable[[], Any]:
    """Would take memory or time from the whole machine anywhere else."""
    ISOLATED[function.__name__] = function
    return function


def asynchronous(function: Callable[[], Any]) -> Callable[[], Any]:
    ASYNC[function.__name__] = function
    return function

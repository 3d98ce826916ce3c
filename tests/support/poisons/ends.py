"""Ways to end a run by what is raised or returned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.support.poisons.kinds import ASYNC, ISOLATED, SYNC


class _Rude(Exception):
    def __str__(self) -> str:
        raise SystemExit(4)

    __repr__ = __str__


class _Unreadable:
    def __repr__(self) -> str:
        raise KeyboardInterrupt


class _Unpicklable(Exception):
    def __init__(self) -> None:
        super().__init__(lambda: None)

    def __reduce__(self) -> Any:
        raise TypeError("not to be pickled")


def _raiser(name: str, make: Callable[[], BaseException]) -> None:
    def sync_one() -> None:
        raise make()

    async def async_one() -> None:
        raise make()

    SYNC[f"raise_{name}"] = ISOLATED[f"raise_{name}"] = sync_one
    ASYNC[f"raise_{name}"] = async_one


def _returner(name: str, make: Callable[[], Any]) -> None:
    def sync_one() -> Any:
        return make()

    async def async_one() -> Any:
        return make()

    SYNC[f"return_{name}"] = ISOLATED[f"return_{name}"] = sync_one
    ASYNC[f"return_{name}"] = async_one


def _circle() -> BaseException:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def _chain() -> BaseException:
    error = ValueError("0")
    for number in range(1, 3000):
        later = ValueError(str(number))
        later.__cause__ = error
        error = later
    return error


def _nested() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def _deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


async def _never_awaited() -> None:
    pass


for _name, _make in {
    "system_exit": lambda: SystemExit(3),
    "system_exit_of_text": lambda: SystemExit("text"),
    "keyboard_interrupt": KeyboardInterrupt,
    "generator_exit": GeneratorExit,
    "base_exception": lambda: BaseException("base"),
    "rude": _Rude,
    "unpicklable": _Unpicklable,
    "group": lambda: ExceptionGroup("several", [ValueError("one"), KeyError("two")]),
    "base_group": lambda: BaseExceptionGroup("several", [SystemExit(1), KeyboardInterrupt()]),
    "circle": _circle,
    "chain": _chain,
    "memory_error": lambda: MemoryError("none left"),
    "recursion_error": lambda: RecursionError("too deep"),
    "stop_iteration": lambda: StopIteration(5),
    "cancelled_error": asyncio.CancelledError,
    "huge_text": lambda: ValueError("x" * 5_000_000),
    "surrogate": lambda: ValueError("\ud800"),
    "nul": lambda: ValueError("a\x00b"),
    "unreadable_argument": lambda: ValueError(_Unreadable()),
}.items():
    _raiser(_name, _make)

for _name, _make in {
    "huge": lambda: "x" * 5_000_000,
    "nan": lambda: float("nan"),
    "surrogate": lambda: "\ud800",
    "nul": lambda: "a\x00b",
    "circle": _nested,
    "deep": _deep,
    "unreadable": _Unreadable,
    "coroutine": _never_awaited,
    "generator": lambda: (number for number in range(3)),
    "bytes": lambda: b"\xff",
    "huge_integer": lambda: 10**5000,
}.items():
    _returner(_name, _make)

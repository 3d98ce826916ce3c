from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from django_jobqueue.models import JobExecution
from django_jobqueue.vendors import Now


class Gateway:
    """An effect that counts how often it happens."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, int]:
        self.calls.append((args, kwargs))
        return {"charge": len(self.calls)}

    def refuse(self) -> None:
        self.calls.append("refused")
        raise ConnectionError("refused")


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def left_open(db: None) -> Callable[..., JobExecution]:
    """An entry whose runner never ended: ``seconds`` from now its lease runs out (or ran out)."""

    def make(key: str = "invoice:42", *, seconds: float = -1) -> JobExecution:
        from django_jobqueue.ledger.claim import claim
        from django_jobqueue.ledger.once import describe

        claim("default", describe(key, stale_after=300, on_stale="retry", owner="worker-1"), None)
        JobExecution.objects.filter(pk=key).update(lease_expires_at=Now(seconds))
        return JobExecution.objects.get(pk=key)

    return make


def entry(key: str = "invoice:42") -> JobExecution:
    return JobExecution.objects.get(pk=key)

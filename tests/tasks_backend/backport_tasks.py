"""Tasks of a project, or of an app, that still uses the backport's decorator, whatever Django's version."""

from __future__ import annotations

from typing import Any

from django_tasks import task


@task
def add(a: int, b: int = 0) -> int:
    return a + b


@task(takes_context=True, queue_name="mail")
def attempt(context: Any) -> int:
    return context.attempt


@task(max_retries=0)
async def fail() -> None:
    raise ValueError("in the backport")

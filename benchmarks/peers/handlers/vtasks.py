"""For django-vtasks."""

from __future__ import annotations

from django_vtasks import task

from benchmarks.harness.counter import note


@task
async def noop() -> None:
    note()

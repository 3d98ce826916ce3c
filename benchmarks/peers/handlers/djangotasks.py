"""For the backends of ``django.tasks``."""

from __future__ import annotations

from django.tasks import task

from benchmarks.harness.counter import note


@task()
def noop() -> None:
    note()

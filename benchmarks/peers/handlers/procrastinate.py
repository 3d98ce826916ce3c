"""For procrastinate."""

from __future__ import annotations

from procrastinate.contrib.django import app

from benchmarks.harness.counter import note


@app.task(name="noop")
async def noop() -> None:
    note()

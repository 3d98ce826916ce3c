"""For huey on SQLite: a module that its worker imports."""

from __future__ import annotations

import os

from huey import SqliteHuey

from benchmarks.harness.counter import note

huey = SqliteHuey(
    "peers", filename=os.environ["PEER_DATABASE"], results=False, fsync=True, journal_mode="wal"
)


@huey.task()
def noop() -> None:
    note()

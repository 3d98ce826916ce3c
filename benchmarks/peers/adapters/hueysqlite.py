"""huey on SQLite with fsync; it deletes a job when it takes it, before the handler."""

from __future__ import annotations

from benchmarks.peers.adapters.huey import Huey


class HueySqlite(Huey):
    title = "huey on SQLite"
    store = "sqlite"
    setting = "1 thread, results off, fsync"
    pause = (0.5, 2.5)  # the idle poll grows
    module = "benchmarks.peers.handlers.hueysqlite"

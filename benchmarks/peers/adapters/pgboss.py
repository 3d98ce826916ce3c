"""pg-boss, for Node, with a handler that takes the list of jobs."""

from __future__ import annotations

from benchmarks.peers.adapters.node import NodePeer


class PgBoss(NodePeer):
    title = "pg-boss"
    setting = "batches of 500, polling 0.5 s (its minimum)"
    pause = (0.02, 0.55)
    grace = 1.0
    script = "pgboss.js"
    count = "SELECT count(*) FROM pgboss.job WHERE name = 'noop' AND state < 'completed'"
    clear = ("DELETE FROM pgboss.job WHERE name = 'noop'",)

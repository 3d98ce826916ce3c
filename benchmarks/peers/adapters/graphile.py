"""graphile-worker, for Node, with its batching on."""

from __future__ import annotations

from benchmarks.peers.adapters.node import NodePeer


class GraphileWorker(NodePeer):
    title = "graphile-worker"
    history = "deleted"
    setting = "24 at once, local queue 500, completions in batches"
    script = "graphile.js"
    count = "SELECT count(*) FROM graphile_worker._private_jobs"
    clear = ("TRUNCATE graphile_worker._private_jobs",)

"""What a worker is told to do."""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass, field

from django_jobqueue.workers.pace import MOST


def default_worker_id() -> str:
    """Host, pid and a random part: never the same for two processes, whatever is reused."""
    return f"{socket.gethostname()[:150]}:{os.getpid()}:{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What a worker does. ``queues`` of ``None`` means all; times are seconds."""

    lease_seconds: float
    poll_interval: float
    shutdown_timeout: float
    worker_id: str = field(default_factory=default_worker_id)
    queues: tuple[str, ...] | None = None
    exclude_queues: tuple[str, ...] = ()
    concurrency: int = 1
    async_concurrency: int = 100
    prefetch: int = MOST
    drain: bool = False
    max_jobs: int | None = None
    isolate_lost: bool = False  # give jobs that were lost with a worker processes of their own

"""Promote and reap, on the same timers as a worker's, for projects whose workers all come over HTTP."""

from __future__ import annotations

import time

from django_jobqueue.models import Job
from django_jobqueue.workers.upkeep import Upkeep

_upkeeps: dict[str, Upkeep] = {}


def keep_up() -> None:
    """Do what is due; at most once an interval in a process, so a claim seldom pays for it."""
    manager = Job.objects
    upkeep = _upkeeps.setdefault(manager.write_alias, Upkeep(manager))
    if upkeep.next_due() <= time.monotonic():
        upkeep.run()

"""Telling idle workers that a queue has work: after the commit, seldom, and never more than a hint."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.db import connections, transaction

from django_jobqueue.conf import settings
from django_jobqueue.vendors import vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager

INTERVAL = 0.02
"""Seconds in which a process tells of a queue at most once. A worker that was told looks again by itself."""

_told: dict[tuple[str, str], float] = {}


def channel_of(manager: JobManager) -> str:
    """The channel of the jobs' table; PostgreSQL takes up to 63 bytes of it."""
    return manager.model._meta.db_table[:63]


def tell_workers(manager: JobManager, queue: str) -> None:
    """Have workers told, once the current transaction (if any) has committed, that ``queue`` has a pending job.

    The commit itself tells nothing: a notification in the caller's transaction would make commits wait for
    each other. One that gets lost, or is held back by ``INTERVAL``, costs a worker one poll interval.
    """
    alias = manager.write_alias
    connection = connections[alias]
    if not vendor_for(connection).notifies or settings().WAKEUP != "notify":
        return
    if not connection.in_atomic_block and _told_just_now(alias, queue):
        return

    def tell() -> (
        None
    ):  # no partial: Django names the function of a robust hook that fails, and partials have no name
        _tell(alias, channel_of(manager), queue)

    transaction.on_commit(tell, using=alias, robust=True)


def _told_just_now(alias: str, queue: str) -> bool:
    return time.monotonic() - _told.get((alias, queue), 0.0) < INTERVAL


def _tell(alias: str, channel: str, queue: str) -> None:
    if _told_just_now(alias, queue):
        return
    if len(_told) > 10_000:  # queues can be named by anything
        _told.clear()
    _told[alias, queue] = time.monotonic()
    vendor_for(connections[alias]).notify(connections[alias], channel, queue)

"""A lock between processes: it saves work, and guarantees nothing."""

from __future__ import annotations

import logging
import math
import threading
import time
from typing import Any

from asgiref.sync import sync_to_async
from django.apps import apps
from django.db import DatabaseError, connections, router
from django.db.models import F, Q

from django_jobqueue.exceptions import LockHeld, LockLost
from django_jobqueue.jobs import limits
from django_jobqueue.ledger.insert import insert_if_absent
from django_jobqueue.ledger.owner import default_owner
from django_jobqueue.ledger.transactions import refuse_open
from django_jobqueue.vendors import Now, retry_transient

logger = logging.getLogger("django_jobqueue")

LONGEST_DELAY = 30.0
"""Seconds until a job that found the lock held runs again, at most."""

_ADVICE = "Take the lock outside of transactions, and begin them inside of it."
_TRIES = 6


def job_lock(name: str, *, lease_seconds: float = 60.0, wait: float = 0.0) -> Lock:
    """A context in which no other process is, as a rule, that took the lock of the same ``name``.

    ``wait`` is how many seconds to wait for it; then ``LockHeld`` is raised, after which a job runs again
    later. The lease is renewed at a third by a thread until the context ends; a dead process's lock is free
    when its lease has run out. The name may have up to 255 characters and leaves a small row for good.

    **It guarantees nothing by itself.** A process that stops for longer than its lease (a paused machine, a
    long garbage collection) wakes up believing that it holds the lock, while another does. Let correctness
    rest on ``once``, on a constraint, or on whoever stores the outcome comparing ``fencing_token``.
    """
    limits.check_text("name", name, limits.KEY_LENGTH)
    limits.check_seconds("lease_seconds", lease_seconds, 1, 7 * 86400)
    limits.check_seconds("wait", wait, 0, 86400)
    return Lock(name, lease_seconds, wait)


class Lock:
    """A lock to be taken once, by ``with`` or ``async with``. Made by ``job_lock``."""

    def __init__(self, name: str, lease_seconds: float, wait: float) -> None:
        self.name = name
        self.fencing_token = 0
        """Rises by one at every acquisition of this name, whoever makes it."""
        self.lost = False
        """Whether this process knows that the lock is no longer its own."""
        self._lease_seconds = lease_seconds
        self._wait = wait
        self._alias = router.db_for_write(_model())
        self._ended = threading.Event()

    def renew(self) -> None:
        """Extend the lease now. Raises ``LockLost`` when somebody else may hold the lock: stop then."""
        if not self._update(lease_expires_at=Now(self._lease_seconds)):
            self.lost = True
            raise LockLost(self.name)

    def __enter__(self) -> Lock:
        if self.fencing_token:
            raise RuntimeError("A lock is taken once; call job_lock again for another time.")
        refuse_open(self._alias, f"job_lock({self.name!r})", _ADVICE)
        deadline = time.monotonic() + self._wait
        pause = 0.02
        while (left := self._acquire()) > 0:
            if time.monotonic() + pause > deadline:
                raise LockHeld(self.name, min(LONGEST_DELAY, max(1.0, math.ceil(left * 1000) / 1000)))
            time.sleep(pause)
            pause = min(0.5, pause * 2)
        if not connections[self._alias].in_atomic_block:  # a test case's, which no other thread sees into
            threading.Thread(target=self._keep, name="jobqueue-lock", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        try:
            held = self._update(lease_expires_at=None)
        except DatabaseError as error:
            logger.warning("A lock was not given back (%s); its lease will run out", type(error).__name__)
            return
        if not held:
            self.lost = True
            logger.warning("A lock was lost while it was held; another process may have had it too")

    async def __aenter__(self) -> Lock:
        return await sync_to_async(self.__enter__)()

    async def __aexit__(self, *error: object) -> None:
        await sync_to_async(self.__exit__)(*error)

    def _acquire(self) -> float:
        """Take the lock, or say for how many seconds its holder has it."""
        return retry_transient(connections[self._alias], self._acquire_once)

    def _acquire_once(self) -> float:
        locks = _model()._base_manager.using(self._alias)
        for _ in range(_TRIES):
            row: Any = locks.filter(pk=self.name).annotate(db_now=Now()).first()
            if row is None:
                if self._insert():
                    self.fencing_token = 1
                    return 0.0
                continue
            if row.lease_expires_at is not None and row.lease_expires_at > row.db_now:
                left: float = (row.lease_expires_at - row.db_now).total_seconds()
                return left
            free = Q(lease_expires_at=None) | Q(lease_expires_at__lte=Now())
            if locks.filter(free, pk=self.name, fencing_token=row.fencing_token).update(
                fencing_token=F("fencing_token") + 1, **self._claim()
            ):
                self.fencing_token = row.fencing_token + 1
                return 0.0
        return 1.0

    def _insert(self) -> bool:
        return insert_if_absent(self._alias, _model()(name=self.name, **self._claim()))

    def _claim(self) -> dict[str, Any]:
        return {
            "owner": default_owner(),
            "acquired_at": Now(),
            "lease_expires_at": Now(self._lease_seconds),
        }

    def _update(self, **changes: Any) -> bool:
        """Change the row if the lock is still this one's."""
        locks = _model()._base_manager.using(self._alias)
        own = locks.filter(pk=self.name, fencing_token=self.fencing_token, lease_expires_at__isnull=False)
        return bool(retry_transient(connections[self._alias], lambda: own.update(**changes)))

    def _keep(self) -> None:
        """Renew until the context ends. Holds no connection in between."""
        while not self._ended.wait(self._lease_seconds / 3):
            try:
                self.renew()
            except LockLost:
                return
            except DatabaseError as error:
                logger.warning("A lock could not be renewed now (%s)", type(error).__name__)
            finally:
                connections.close_all()


def _model() -> Any:
    return apps.get_model("django_jobqueue", "JobLock")

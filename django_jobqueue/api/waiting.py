"""Waiting for a job under ASGI: one watcher a process looks at the queues, for all claims that wait in it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from asgiref.sync import async_to_sync
from django.db import DatabaseError, connections

from django_jobqueue.conf import settings
from django_jobqueue.jobs.queryset import table_of
from django_jobqueue.models import Job
from django_jobqueue.vendors import vendor_for
from django_jobqueue.workers.listener import Listener
from django_jobqueue.workers.wakeup import Pause, Wakeup

logger = logging.getLogger("django_jobqueue")

SHORTEST_PAUSE = 0.02


def wait_for_jobs(queues: Collection[str] | None, seconds: float, *, principal: str) -> bool:
    """Wait until one of ``queues`` (``None``: any) may have a pending job; false when ``seconds`` are over.

    Called in the thread of a request under ASGI. While it waits, the thread holds no database connection, and
    a caller that goes away ends it with ``CancelledError``. At most ``API_MAX_WAITING`` calls of a process
    wait; further ones are answered at once, or take a place from the principal that has the most.
    """
    connections.close_all()
    return async_to_sync(_wait)(queues, seconds, principal)


async def _wait(queues: Collection[str] | None, seconds: float, principal: str) -> bool:
    with _watcher.waiter(queues, principal) as waiter:
        if waiter is None:
            return False
        try:
            await asyncio.wait_for(waiter.event.wait(), seconds)
        except TimeoutError:
            return False
        return not waiter.sent_away


class Waiter:
    """A claim that waits, in an event loop of its own."""

    def __init__(self, queues: Collection[str] | None, principal: str) -> None:
        self.queues = queues
        self.principal = principal
        self.event = asyncio.Event()
        self.sent_away = False
        self._loop = asyncio.get_running_loop()

    def send_away(self) -> None:
        """End the wait in vain."""
        self.sent_away = True
        self.wake()

    def wake(self) -> None:
        """Called from other threads."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.event.set)


class Watcher:
    """A thread that lives while somebody waits. It hears notifications where there are any, and polls always."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: dict[Waiter, None] = {}  # in the order in which they came
        self._bell: Wakeup | None = None

    @contextmanager
    def waiter(self, queues: Collection[str] | None, principal: str) -> Iterator[Waiter | None]:
        """A new waiter for the time of the block; ``None`` when too many wait already."""
        waiter = Waiter(queues, principal)
        with self._lock:
            if len(self._waiters) >= settings().API_MAX_WAITING and not self._make_room(principal):
                waiter = None  # type: ignore[assignment]
            else:
                self._waiters[waiter] = None
                if self._bell is None:
                    self._bell = Wakeup()
                    threading.Thread(target=self._run, args=[self._bell], daemon=True).start()
                self._bell.ring()
        try:
            yield waiter
        finally:
            with self._lock:
                self._waiters.pop(waiter, None)
                if self._bell is not None and not self._waiters:
                    self._bell.ring()

    def _make_room(self, principal: str) -> bool:
        """Send away who waits longest of the principal with the most places, unless this one would have as many."""
        places = Counter(waiter.principal for waiter in self._waiters)
        if not places:
            return False
        holder, most = places.most_common(1)[0]
        if places[principal] + 1 >= most:
            return False
        first = next(waiter for waiter in self._waiters if waiter.principal == holder)
        del self._waiters[first]
        first.send_away()
        return True

    def _run(self, bell: Wakeup) -> None:
        listener = Listener(Job.objects)
        pause = Pause(SHORTEST_PAUSE, settings().POLL_INTERVAL)
        known: set[Waiter] = set()
        try:
            while True:
                with self._lock:
                    waiters = set(self._waiters)
                    if not waiters:
                        self._bell = None
                        return
                if waiters - known:
                    pause.reset()
                known = waiters
                try:
                    self._look(listener, waiters)
                    heard = bell.wait(pause.grow(), listener.fileno)
                    if heard and (told := listener.heard()):
                        self._wake(told, waiters)
                        pause.reset()
                except BaseException as error:  # nothing but the process's end may end the watcher
                    logger.warning(
                        "Waiting claims are not told of jobs now (%s)",
                        type(error).__name__,
                        exc_info=None if isinstance(error, DatabaseError) else error,
                    )
                    listener.forget()
                    connections.close_all()
                    time.sleep(settings().POLL_INTERVAL)
        finally:
            connections.close_all()
            bell.close()

    def _look(self, listener: Listener, waiters: Collection[Waiter]) -> None:
        listener.attend()
        connection = connections[Job.objects.write_alias]
        heads = vendor_for(connection).heads(connection, table_of(Job), None)
        self._wake({queue for queue, _, _ in heads}, waiters)

    def _wake(self, queues: Collection[str], waiters: Collection[Waiter]) -> None:
        for waiter in waiters:
            if queues and (waiter.queues is None or any(queue in queues for queue in waiter.queues)):
                waiter.wake()


_watcher = Watcher()

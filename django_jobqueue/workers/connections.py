"""Database connections of the threads that run handlers: found usable by each job, and left clean by it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from asgiref.sync import SyncToAsync, ThreadSensitiveContext
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from django_jobqueue.conf import settings
from django_jobqueue.vendors import is_supported, may_leave_traces, vendor_for

_OWN_IDLE_TRANSACTION = 30.0  # seconds; between two statements of the worker's own there are milliseconds
_TRUSTED_FOR = 1.0  # seconds after use during which a connection is taken for alive without asking it


class _Thread(threading.local):
    """What is known of the connections of one thread."""

    used = False
    own = False  # the worker's, not a handler's
    handles = False
    last_used = 0.0


_thread = _Thread()
_of_other_threads: dict[int, tuple[threading.Thread, BaseDatabaseWrapper]] = {}  # that handlers started
_watching = False  # not in processes that run no jobs


class JobThread(ThreadSensitiveContext):
    """The thread of an async job; asgiref starts it when it is first asked for, unless there is one to use again."""

    def __init__(self, owner: object, epoch: int) -> None:
        super().__init__()
        self.owner = owner
        self.epoch = epoch


def _of_async_job() -> bool:
    return isinstance(SyncToAsync.thread_sensitive_context.get(None), JobThread)


class _Traces:
    """Sees each statement of a handler's connection; knows whether one may have left something in the session."""

    def __init__(self) -> None:
        self.left = False

    def __call__(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        if not self.left:
            self.left = may_leave_traces(context["connection"].vendor, sql)
        return execute(sql, params, many, context)


def _traces(connection: BaseDatabaseWrapper) -> _Traces | None:
    # Looked for from the front: a wrapper that is in use for a block is taken off the end.
    return next((found for found in connection.execute_wrappers if isinstance(found, _Traces)), None)


def _note_new(connection: BaseDatabaseWrapper, **_: object) -> None:
    _thread.used = True
    limit(connection)
    if _thread.own:
        connection.queries_log = deque(maxlen=0)
    elif _watching:
        traces = _traces(connection)
        if traces is None:
            connection.execute_wrappers.insert(0, _Traces())
        else:
            traces.left = False  # what was sent up to here belongs to the new session, whoever sent it
        if not _thread.handles and threading.current_thread() is not threading.main_thread():
            _of_other_threads[id(connection)] = threading.current_thread(), connection


def limit(connection: BaseDatabaseWrapper) -> None:
    """Set this session's limits: a machine that dies in a transaction holds the rows of no job for hours."""
    if not is_supported(connection):
        return
    vendor = vendor_for(connection)
    if _thread.own:
        vendor.bound_answers(connection)
        vendor.bound_idle_transactions(connection, _OWN_IDLE_TRANSACTION)
    elif (_thread.handles or _of_async_job()) and (
        seconds := settings().IDLE_TRANSACTION_TIMEOUT
    ) is not None:
        vendor.bound_idle_transactions(connection, seconds)


@contextlib.contextmanager
def own(alias: str) -> Iterator[None]:
    """What this thread has of ``alias`` in the block is the worker's own, and never waited for without end."""
    connection = connections[alias]
    given = connection.settings_dict
    if is_supported(connection):
        options = vendor_for(connection).bound_waits(given["OPTIONS"])
        if options != given["OPTIONS"]:
            connection.close()
            connection.settings_dict = {**given, "OPTIONS": options}
    _thread.own = True
    try:
        yield
    finally:
        _thread.own = False
        connection.settings_dict = given
        if connection.queries_log.maxlen == 0:
            connection.queries_log = deque(maxlen=connection.queries_limit)


# A handler that never opens a connection then costs no look at any.
connection_created.connect(_note_new, dispatch_uid="django_jobqueue.connections")


def watch() -> None:
    """Before the threads of handlers start: be the last to hear of new connections.

    What other receivers set there belongs to every session and is no trace of a job.
    """
    global _watching
    _watching = True
    connection_created.disconnect(dispatch_uid="django_jobqueue.connections")
    connection_created.connect(_note_new, dispatch_uid="django_jobqueue.connections")


def prepare() -> None:
    """Before a job: drop connections of this thread that are dead, broken or past their ``CONN_MAX_AGE``.

    They are otherwise kept from job to job, also with ``CONN_MAX_AGE = 0``, which is meant for requests.
    """
    _thread.handles = True
    if not _thread.used:
        return
    trusted = time.monotonic() - _thread.last_used < _TRUSTED_FOR
    for connection in connections.all(initialized_only=True):
        if connection.connection is None:
            continue
        aged = connection.settings_dict["CONN_MAX_AGE"] and (
            connection.close_at is not None and time.monotonic() >= connection.close_at
        )
        if aged or connection.errors_occurred or not (trusted or connection.is_usable()):
            _discard(connection)


def leave_clean() -> bool:
    """After a job: undo what it left on this thread's connections; whether a transaction was open.

    A session in which something may have been set is closed: what nobody knows all of cannot be set back.

    An open transaction is rolled back, so what the handler wrote in it is gone.
    """
    close_of_ended_threads()
    if not _thread.used:
        return False
    was_open = False
    for connection in connections.all(initialized_only=True):
        try:
            is_open = connection.in_atomic_block or _is_open(connection)
        except Exception:  # a dead connection can raise anything, and has no transaction any more
            _discard(connection)
            continue
        was_open = was_open or is_open
        opened = connection.connection is not None
        changed = opened and (
            connection.autocommit != connection.settings_dict["AUTOCOMMIT"] or _left_traces(connection)
        )
        if is_open or changed or connection.errors_occurred:
            _discard(connection)
        else:
            connection.queries_log.clear()  # with DEBUG it would grow from job to job
    _thread.last_used = time.monotonic()
    return was_open


def close_of_ended_threads() -> None:
    """Close what threads of handlers had open when they ended; nobody else would before some garbage collection."""
    for key, (thread, connection) in list(_of_other_threads.items()):
        if thread.is_alive() or _of_other_threads.pop(key, None) is None or connection.allow_thread_sharing:
            continue
        connection.inc_thread_sharing()
        _close(connection)


def distrust() -> None:
    """Ask the connections of this thread whether they live before the next job uses them."""
    _thread.last_used = 0.0


def close() -> None:
    """Close this thread's connections."""
    for connection in connections.all(initialized_only=True):
        _discard(connection)


def _is_open(connection: BaseDatabaseWrapper) -> bool:
    if connection.connection is None or not is_supported(connection):
        return False
    return vendor_for(connection).in_transaction(connection)


def _left_traces(connection: BaseDatabaseWrapper) -> bool:
    traces = _traces(connection)
    return traces is not None and (traces.left or settings().FRESH_CONNECTIONS)


def _discard(connection: BaseDatabaseWrapper) -> None:
    # A wrapper that was closed inside an atomic block never opens again, so it goes too.
    _close(connection)
    del connections[connection.alias]


def _close(connection: BaseDatabaseWrapper) -> None:
    connection.in_atomic_block = False
    connection.run_on_commit = []
    with contextlib.suppress(Exception):
        if getattr(connection, "pool", None) and connection.connection is not None:
            connection.connection.close()  # a pool would hand it on as it is
    with contextlib.suppress(Exception):
        connection.close()

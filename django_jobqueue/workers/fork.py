"""Forked processes that share no connection with this one and, on Linux, do not outlive it."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable

from django.db import connections

logger = logging.getLogger("django_jobqueue.worker")

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def fork(
    run: Callable[[], int],
    *,
    on_parent_death: signal.Signals,
    stop_signals: signal.Handlers = signal.SIG_DFL,
) -> int:
    """Run ``run`` in a new process, with its return value as the exit code; returns the process's id.

    Call it where no other thread runs: a lock that one holds would never be released in the new process. The
    database connections of this thread are closed first, and pools of connections, so that none is shared.
    The new process leads a session of its own: the terminal's Ctrl-C does not reach it, and what it starts can
    be killed with it. On Linux it gets ``on_parent_death`` once the thread that called this is gone. SIGTERM,
    SIGINT and SIGHUP do there what ``stop_signals`` says, from the beginning. Raises ``OSError`` when there is
    no room for a process.
    """
    _close_connections()
    _flush()
    parent = os.getpid()
    # A signal in between would reach this process's handlers in the new one; so it waits.
    stops = dict.fromkeys((signal.SIGTERM, signal.SIGINT, signal.SIGHUP), stop_signals)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        pid = os.fork()
        if pid == 0:
            _live(run, parent, on_parent_death, stops, blocked)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return pid


def _live(
    run: Callable[[], int],
    parent: int,
    on_parent_death: signal.Signals,
    stops: dict[signal.Signals, signal.Handlers],
    blocked: set[int | signal.Signals],
) -> None:
    """The whole life of the new process. Never returns, whatever happens: the frames below are another's."""
    code = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number, handler in stops.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        _die_with(parent, on_parent_death)
        code = run()
    except BaseException:
        logger.exception("Process %d failed", os.getpid())
    finally:
        try:
            _flush()
        finally:
            os._exit(code)


def _die_with(parent: int, number: signal.Signals) -> None:
    if _libc is None:
        return
    _libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(number))
    if os.getppid() != parent:  # it was gone before the kernel knew
        os.kill(os.getpid(), number)


def _close_connections() -> None:
    for connection in connections.all(initialized_only=True):
        with contextlib.suppress(Exception):  # a dead connection can raise anything
            connection.close()
        if close_pool := getattr(connection, "close_pool", None):  # where the backend has pools
            close_pool()


def _flush() -> None:
    """What is in the buffers must not be written twice. A stream that is closed or full has no part in this."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()

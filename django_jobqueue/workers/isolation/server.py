"""The fork server: forked from the worker before its threads, it forks a process for each isolated job."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import selectors
import signal
import socket
import threading
from functools import partial

from django_jobqueue.workers.fork import fork
from django_jobqueue.workers.isolation.process import JobProcess

logger = logging.getLogger("django_jobqueue.worker")

TELL = b"T"
KILL = b"K"
"""What a worker sends through a lifeline: have the process look for news; kill it and all that it started."""


class ForkServerGone(Exception):
    """The fork server has died, so this worker can isolate no more jobs."""


class ForkServer:
    """The worker's end. Made before the worker starts a thread; any thread may use it then.

    When the worker ends, in whatever way, the fork server kills the processes of its jobs and ends, too.
    """

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._lock = threading.Lock()

        def serve() -> int:
            self._socket.close()
            return _Server(theirs).serve()

        with theirs:
            self._pid = fork(serve, on_parent_death=signal.SIGKILL, stop_signals=signal.SIG_IGN)
        self.gone = False

    def start_process(self) -> tuple[socket.socket, socket.socket]:
        """Start a process for a job; returns this worker's ends of its talk and of its lifeline.

        Raises ``ForkServerGone``.
        """
        talk, its_talk = socket.socketpair()
        lifeline, its_lifeline = socket.socketpair()
        try:
            with its_talk, its_lifeline, self._lock:
                socket.send_fds(self._socket, [b"J"], [its_talk.fileno(), its_lifeline.fileno()])
        except (BrokenPipeError, ConnectionResetError):
            talk.close()
            lifeline.close()
            self.note_death()
            raise ForkServerGone from None
        return talk, lifeline

    def note_death(self) -> None:
        """It was found dead."""
        if not self.gone:
            self.gone = True
            logger.error("The fork server of this worker has died; the worker finishes what runs and stops")

    def close(self) -> None:
        """End it, and all processes of its jobs."""
        with self._socket:
            try:
                self._socket.shutdown(socket.SHUT_WR)
                self._socket.settimeout(1.0)
                self._socket.recv(1)  # returns when it is gone
            except TimeoutError:
                return  # it is stopped; closing the socket ends it when it goes on
            except OSError:
                pass  # it was gone before
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


class _Server:
    """The server's end, in its own process: one thread, no connection, nothing but forking and waiting."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._bell, self._ringer = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._lifelines: dict[int, socket.socket] = {}

    def serve(self) -> int:
        """Fork on request until the worker is gone; returns the exit code."""
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler it would not ring the bell
        signal.set_wakeup_fd(self._ringer.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._requests, selectors.EVENT_READ)
        self._selector.register(self._bell, selectors.EVENT_READ)
        gc.freeze()  # a collection, here or in a job's process, would touch and so copy all of the shared memory
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._bell:
                    self._bury()
                elif key.fileobj is not self._requests:
                    self._obey(key.data)
                elif not self._start():
                    self._kill_all()
                    return 0

    def _start(self) -> bool:
        """Start the process that is asked for; false when the worker is gone."""
        try:
            request, descriptors, _, _ = socket.recv_fds(self._requests, 1, 2)
        except OSError:
            return False
        if not request:
            return False
        talk, lifeline = (socket.socket(fileno=descriptor) for descriptor in descriptors)
        for received in (talk, lifeline):
            received.set_inheritable(False)
        with talk:
            try:
                pid = fork(
                    partial(self._become_job, talk, lifeline),
                    on_parent_death=signal.SIGKILL,
                    stop_signals=signal.SIG_IGN,
                )
            except OSError as error:
                self._answer(lifeline, f"no process could be started: {error.strerror}")
                return True
        self._lifelines[pid] = lifeline
        self._selector.register(lifeline, selectors.EVENT_READ, pid)
        return True

    def _become_job(self, talk: socket.socket, lifeline: socket.socket) -> int:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for other in (self._requests, self._bell, self._ringer, lifeline, *self._lifelines.values()):
            other.close()
        return JobProcess(talk).run()

    def _obey(self, pid: int) -> None:
        lifeline = self._lifelines.get(pid)
        if lifeline is None:
            return  # buried a moment ago
        orders = b""
        with contextlib.suppress(OSError):
            orders = lifeline.recv(64)
        if not orders:
            self._selector.unregister(lifeline)
        if not orders or KILL in orders:
            _kill(pid)
        elif TELL in orders:
            os.kill(pid, signal.SIGTERM)

    def _bury(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._bell.recv(4096):
                pass
        for pid in list(self._lifelines):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            _kill_group(pid)
            lifeline = self._lifelines.pop(pid)
            with contextlib.suppress(KeyError):
                self._selector.unregister(lifeline)
            self._answer(lifeline, str(os.waitstatus_to_exitcode(status)))

    def _answer(self, lifeline: socket.socket, text: str) -> None:
        with lifeline, contextlib.suppress(OSError):
            lifeline.sendall(text.encode())

    def _kill_all(self) -> None:
        for pid in self._lifelines:
            _kill(pid)
        for pid in self._lifelines:
            os.waitpid(pid, 0)
            _kill_group(pid)


def _kill(pid: int) -> None:
    """Kill a process that has not been waited for, and all that it started."""
    os.kill(pid, signal.SIGKILL)
    _kill_group(pid)


def _kill_group(pid: int) -> None:
    """Kill what a process has started and not put into another group. There may be nothing left."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)

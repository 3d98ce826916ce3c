"""A TCP proxy of the test's own before a server that others use, too: it cuts, refuses and swallows."""

from __future__ import annotations

import contextlib
import socket
import threading


class Proxy:
    """Passes connections on to ``port``. ``connections`` counts those that were taken."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._swallow_after: int | None = None
        self._swallow_questions = False
        self._flows = threading.Event()
        self._flows.set()
        self.connections = 0
        self.swallowed = threading.Event()
        self.port = 0
        self.listen()

    def listen(self) -> None:
        """Take connections, on the same port as before."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()

    def refuse(self) -> None:
        """Take no more connections, and cut those that there are."""
        # Closing alone would not wake the thread that waits in accept.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            cut, self._sockets = self._sockets, set()
        for end in cut:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def freeze(self) -> None:
        """Pass nothing on, either way, until ``thaw``; connections stay open and new ones are taken."""
        self._flows.clear()

    def thaw(self) -> None:
        """Pass on what has come meanwhile, and go on."""
        self._flows.set()

    def swallow_questions(self) -> None:
        """From now on pass on nothing that clients say."""
        self._swallow_questions = True

    def swallow_answers(self) -> None:
        """From now on pass on what clients say, but nothing that is answered."""
        self._swallow_after = self.connections

    def pass_answers(self) -> None:
        """Pass everything on, in connections that are made from now on."""
        self._swallow_after = None
        self._swallow_questions = False
        self.cut()

    def close(self) -> None:
        """End everything."""
        self._flows.set()
        self.refuse()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._sockets |= {client, server}
            for source, target, answers in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pump, args=[source, target, answers], daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                if not answers and self._swallow_questions:
                    continue
                if answers and self._swallow_after is not None:
                    self.swallowed.set()
                else:
                    target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

"""A small HTTP server on loopback, for the shop's partners."""

from __future__ import annotations

import json
import sys
import threading
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, Self

HOLD_SECONDS = 120.0


class Partner(ABC):
    """A server of its own on a port that the system chooses, for as long as the ``with`` block lasts.

    ``hold`` names the one key whose first request gets no answer before ``release`` is called; ``holding`` is
    set once that request is in.
    """

    path = "/"

    def __init__(self, *, hold: str = "") -> None:
        self._hold = hold
        self._released = threading.Event()
        self.holding = threading.Event()
        self.lock = threading.Lock()
        partner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                answer = partner.answer(self.headers.get("Idempotency-Key", ""), json.loads(body))
                if answer is None:
                    self.close_connection = True
                    return
                status, content = answer
                text = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{self.path}"

    @abstractmethod
    def answer(self, key: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """Status and body of the answer to a request; ``None`` closes the connection without one."""

    def wait_if_held(self, key: str) -> None:
        """Return at once, but for the first request of the key to hold, which waits for ``release``."""
        if key == self._hold and not self.holding.is_set():
            self.holding.set()
            self._released.wait(HOLD_SECONDS)

    def release(self) -> None:
        """Let the request that is held go on."""
        self._released.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A worker that is killed leaves its connection; that is what the demo is about.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

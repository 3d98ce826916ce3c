"""A receiver of web hooks on the loopback interface of the test's own process, which can misbehave."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: bytes


Reply = Callable[["Receiver", BaseHTTPRequestHandler], None]


def answer(status: int, body: bytes = b"", **headers: str) -> Reply:
    """An ordinary answer; ``Retry_After`` is the header ``Retry-After``."""

    def reply(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def hang(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
    """Take the request and say nothing."""
    receiver.closed.wait(30)


def drip(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
    """Send the head byte by byte, so slowly that it never ends."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not receiver.closed.wait(0.05):
        handler.wfile.write(b"x")


def cut(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
    """Close the connection in the middle of the head."""
    handler.wfile.write(b"HTTP/1.1 200")


def endless(status: int, *, pause: float = 0.0) -> Reply:
    """A body without end, or one that stalls after its first bytes."""

    def reply(receiver: Receiver, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not receiver.closed.wait(pause):
                handler.wfile.write(b"more " * 2000)
                receiver.sent += 10_000
        receiver.broken_off.set()

    return reply


class Receiver:
    """Gives the replies in order, the last one from then on, and keeps the requests."""

    def __init__(self, *, certificate: Path | None = None) -> None:
        self.requests: list[Request] = []
        self.replies: list[Reply] = [answer(200, b"ok")]
        self.sent = 0
        self.server_names: list[str | None] = []
        self.closed = threading.Event()
        self.broken_off = threading.Event()
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_POST(self) -> None:
                receiver._take(self)

            def do_GET(self) -> None:
                receiver._take(self)

            def log_message(self, *_: object) -> None:
                """Tests are quiet."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """A client that breaks off is no error here."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            context.sni_callback = lambda socket, name, context: self.server_names.append(name)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=[0.02], daemon=True).start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._server.server_port

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        """The message ids of the requests."""
        return [request.headers["webhook-id"] for request in self.requests]

    def close(self) -> None:
        """Stop listening, and let go who hangs."""
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()

    def _take(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length", 0))
        body = handler.rfile.read(length)
        if len(body) < length:
            return  # the sender died
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            self.requests.append(Request(handler.path, headers, body))
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        reply(self, handler)

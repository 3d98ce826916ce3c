"""A payment gateway that counts, on the loopback interface of the test's own process."""

from __future__ import annotations

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Gateway:
    """Every POST charges the account that its path names. A repeated ``Idempotency-Key`` charges nothing."""

    def __init__(self) -> None:
        self.charges: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        self._keys: set[str] = set()
        self._lock = threading.Lock()
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = str(gateway.charge(self.path.strip("/"), self.headers["Idempotency-Key"])).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, account: str) -> str:
        """Where to charge an account."""
        return f"http://127.0.0.1:{self._server.server_port}/{account}"

    def charge(self, account: str, key: str | None) -> int:
        """How often the account has been charged by now."""
        with self._lock:
            self.requests[account] += 1
            if key is None or key not in self._keys:
                self.charges[account] += 1
            if key is not None:
                self._keys.add(key)
            return self.charges[account]

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

"""The HTTP protocol behind gunicorn: what does the queue cost beside a DRF view that does nothing?"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.harness.database import Database, own_database
from benchmarks.harness.options import read_options
from benchmarks.harness.results import Results, percentile

SETTINGS = "benchmarks.http_settings"
SERVERS = 2
CLIENTS = 8
BATCH = 100

OPEN = "a DRF view that does nothing, open to all"
EMPTY = "a DRF view that does nothing, for workers"
PAIRS = "claim and complete, one by one (requests)"


class Caller:
    """Sends requests one after another, each on a connection of its own, as gunicorn's sync workers have it."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = (
            f"Host: 127.0.0.1\r\nAuthorization: Token {token}\r\nContent-Type: application/json\r\n"
            "Connection: close\r\nContent-Length: "
        )
        self.took: list[float] = []

    def post(self, path: str, body: Any) -> Any:
        """POST ``body`` as JSON; the answer's, or ``None`` for an empty one."""
        data = json.dumps(body)
        begun = time.perf_counter()
        with socket.create_connection(("127.0.0.1", self._port), timeout=60) as connection:
            connection.sendall(f"POST {path} HTTP/1.1\r\n{self._head}{len(data)}\r\n\r\n{data}".encode())
            parts = []
            while part := connection.recv(1 << 20):
                parts.append(part)
        self.took.append(time.perf_counter() - begun)
        head, _, text = b"".join(parts).partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(f"{path}: {head.decode()[:200]} {text.decode()[:500]}")
        return json.loads(text) if text else None


Work = Callable[[Caller], int]


def empty(caller: Caller) -> int:
    caller.post("/empty", {"worker_id": "w"})
    return 1


def open_to_all(caller: Caller) -> int:
    caller.post("/open", {"worker_id": "w"})
    return 1


def enqueue(caller: Caller) -> int:
    caller.post("/jobs", {"type": "noop", "payload": {"order_id": 42}})
    return 1


def enqueue_with_key(caller: Caller) -> int:
    key = f"{id(caller)}-{len(caller.took)}"
    caller.post("/jobs", {"type": "noop", "payload": {"order_id": 42}, "idempotency_key": key})
    return 1


def pair(caller: Caller) -> int:
    job = caller.post("/jobs/claim", {"worker_id": "w", "queues": ["default"]})
    caller.post(
        f"/jobs/{job['id']}/complete", {"fencing_token": job["fencing_token"], "result": {"ok": True}}
    )
    return 2


def batch(caller: Caller) -> int:
    body = {"worker_id": "w", "queues": ["default"], "limit": BATCH}
    jobs = caller.post("/jobs/claim-batch", body)["jobs"]
    done = [{"id": job["id"], "fencing_token": job["fencing_token"], "result": {"ok": True}} for job in jobs]
    caller.post("/jobs/complete-batch", done)
    return len(jobs)


def run(work: Work, port: int, token: str, seconds: float) -> tuple[float, list[float]]:
    """What ``work`` got done a second by all callers together, and how long each request took, in seconds."""
    callers = [Caller(port, token) for _ in range(CLIENTS)]
    counts = [0] * CLIENTS
    end = time.perf_counter() + seconds

    def loop(index: int) -> None:
        while time.perf_counter() < end:
            counts[index] += work(callers[index])

    begun = time.perf_counter()
    threads = [threading.Thread(target=loop, args=[index]) for index in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - begun
    return sum(counts) / elapsed, [took for caller in callers for took in caller.took]


@contextmanager
def gunicorn() -> Iterator[int]:
    """The port of a gunicorn with two workers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "gunicorn", "--workers", str(SERVERS), "--log-level", "critical"]
    server = subprocess.Popen(
        [*command, "--bind", f"127.0.0.1:{port}", "django.core.wsgi:get_wsgi_application()"],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": SETTINGS},
    )
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait(30)


def make_token() -> str:
    """The token of a user who may enqueue and work."""
    from django.contrib.auth.models import Permission, User
    from rest_framework.authtoken.models import Token

    user = User.objects.create_user("benchmark")
    codenames = ["enqueue_job", "work_job"]
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return str(Token.objects.create(user=user).key)


def measure(database: Database, results: Results, port: int, token: str, seconds: float, jobs: int) -> None:
    """Each case once."""
    cases: dict[str, tuple[Work, str, str | None, int]] = {
        OPEN: (open_to_all, "requests/s", None, 0),
        EMPTY: (empty, "requests/s", OPEN, 0),
        "enqueue": (enqueue, "jobs/s", EMPTY, 0),
        "enqueue with a new key": (enqueue_with_key, "jobs/s", EMPTY, 0),
        PAIRS: (pair, "requests/s", EMPTY, jobs),
        f"claim and complete, {BATCH} at a time": (batch, "jobs/s", EMPTY, 10 * jobs),
    }
    for name, (work, unit, against, needed) in cases.items():
        database.empty()
        if needed:
            database.fill(needed, payload={"order_id": 42})
            database.vacuum()
        work(Caller(port, token))
        rate, took = run(work, port, token, seconds)
        results.add(name, rate, unit, against=against)
        for share in (0.5, 0.99):
            results.add(f"{name}: p{share:.0%}"[:-1], percentile(took, share) * 1000, "ms")


def main(arguments: list[str] | None = None) -> None:
    """Measure round by round."""
    options = read_options("http", __doc__, rounds=3, seconds=240, arguments=arguments)
    with own_database(options.database, settings=SETTINGS) as database:
        results = Results(options, database)
        token = make_token()
        with gunicorn() as port:
            for _ in options.timed_rounds():
                seconds, jobs = (0.3, 2_000) if options.quick else (5.0, 20_000)
                measure(database, results, port, token, seconds, jobs)
        results.finish()


if __name__ == "__main__":
    main()

"""A real WSGI server with several processes on the test database, as in production."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

from tests.support.asgi import answers
from tests.support.processes import wait_until
from tests.support.servers import free_port

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def gunicorn(workers: int = 2) -> Iterator[str]:
    """The URL of a gunicorn with ``workers`` processes, for the time of the block."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--workers", str(workers), "--log-level", "critical"]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "JOBQUEUE_TEST_DATABASE": str(connection.settings_dict["NAME"]),
    }
    server = subprocess.Popen(
        [*command, "--bind", f"127.0.0.1:{port}", "django.core.wsgi:get_wsgi_application()"],
        cwd=ROOT,
        env=environment,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(url))
        yield url
    finally:
        server.terminate()
        server.wait(30)

"""A ``runworker`` process that the demo starts, kills and stops."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from django.conf import settings

STOP_SECONDS = 30.0


class WorkerProcess:
    """Starts when the ``with`` block is entered; nothing of it is left after the block."""

    def __init__(self, name: str, *options: str, log: Path, environment: dict[str, str]) -> None:
        self.name = name
        self.log = log
        self._command = [
            sys.executable,
            str(settings.BASE_DIR / "manage.py"),
            "runworker",
            f"--worker-id={name}",
            "--no-reload",
            *options,
        ]
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as log:
            # A session of its own: Ctrl-C reaches the demo alone, which then ends the worker in order.
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the worker is not started"
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def exit_code(self) -> int | None:
        """``None`` while the process lives; negative: the signal that ended it."""
        return self.process.poll()

    def kill(self) -> None:
        """SIGKILL: the process has no chance to say anything."""
        if self.exit_code is None:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()

    def stop(self) -> int:
        """SIGTERM, which lets running jobs end; SIGKILL after half a minute. Returns the exit code."""
        if self.exit_code is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            finally:
                self.kill()
        return self.process.wait()

"""Database servers of a test's own, that it may stop and start; on a free port, in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path


def free_port() -> int:
    """A port of the loopback interface that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server that was set up and is running; ``url`` is its ``DATABASE_URL``."""

    user = ""
    url = ""

    def __init__(self) -> None:
        # Not pytest's folder: that one is closed to the account that the server runs under.
        self.folder = Path(tempfile.mkdtemp(prefix="jobqueue-server-"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        if self._as_root():
            # Database servers refuse to run as root.
            entry = pwd.getpwnam(self.user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
        self._set_up()
        self.start()

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self._process = subprocess.Popen(
            self._command(), **self._credentials(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._wait_until_up()

    def stop(self) -> None:
        """Stop it as its operator would: connections are cut, what was committed stays."""
        if self._process is not None:
            self._process.send_signal(self._stop_signal)
            self._process.wait(60)
            self._process = None

    def remove(self) -> None:
        """Stop it and delete its files."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _as_root(self) -> bool:
        return os.geteuid() == 0

    def _credentials(self) -> dict[str, str]:
        return {"user": self.user, "group": self.user} if self._as_root() else {}

    def _run(self, *command: str) -> None:
        subprocess.run(command, **self._credentials(), check=True, capture_output=True, cwd=self.folder)

    def _wait_until_up(self) -> None:
        end = time.monotonic() + 60
        while True:
            probe = subprocess.run(self._probe(), capture_output=True)
            if probe.returncode == 0:
                return
            assert time.monotonic() < end, f"the server did not start: {probe.stderr!r}"
            time.sleep(0.05)

    _stop_signal = 15

    def _set_up(self) -> None:
        raise NotImplementedError

    def _command(self) -> list[str]:
        raise NotImplementedError

    def _probe(self) -> list[str]:
        raise NotImplementedError


class PostgreSQLServer(Server):
    user = "postgres"
    _stop_signal = 2  # fast shutdown

    @staticmethod
    def binary(name: str) -> str | None:
        """The newest installed server program of this name."""
        found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
        return str(found[-1]) if found else shutil.which(name)

    @classmethod
    def missing(cls) -> str:
        """Why this server cannot run here; empty when it can."""
        return "" if cls.binary("initdb") and shutil.which("psql") else "PostgreSQL's initdb is not installed"

    def _set_up(self) -> None:
        self._run(
            str(self.binary("initdb")), "-D", str(self.folder / "data"), "-U", "postgres", "-A", "trust", "-N"
        )
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def _command(self) -> list[str]:
        options = ["-p", str(self.port), "-k", "", "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
        return [str(self.binary("postgres")), "-D", str(self.folder / "data"), *options]

    def _probe(self) -> list[str]:
        return ["psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-c", "SELECT 1"]


class MariaDBServer(Server):
    user = "mysql"

    @classmethod
    def missing(cls) -> str:
        """Why this server cannot run here; empty when it can."""
        return "" if shutil.which("mariadb-install-db") else "MariaDB's mariadb-install-db is not installed"

    def _set_up(self) -> None:
        self._run(
            "mariadb-install-db",
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            f"--datadir={self.folder / 'data'}",
        )
        self.url = f"mysql://root@127.0.0.1:{self.port}/jobs"
        self._run("mkdir", str(self.folder / "data" / "jobs"))

    def _command(self) -> list[str]:
        return [
            shutil.which("mariadbd") or "/usr/sbin/mariadbd",
            "--no-defaults",
            f"--datadir={self.folder / 'data'}",
            f"--socket={self.folder / 'socket'}",
            f"--pid-file={self.folder / 'pid'}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            "--character-set-server=utf8mb4",
            "--innodb-flush-log-at-trx-commit=2",
        ]

    def _probe(self) -> list[str]:
        return ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-uroot", "-e", "SELECT 1"]

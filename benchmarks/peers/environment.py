"""Where the peers live: a virtual environment, Node packages and a Redis server of their own, under ``var/``."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness.processes import ROOT, Command, running

FOLDER = ROOT / "var" / "benchmark-peers"
_HERE = Path(__file__).resolve().parent
_REQUIREMENTS = _HERE / "requirements.txt"
_PACKAGES = _HERE / "node" / "package.json"


def python() -> Path:
    """The interpreter of the peers' environment, which is made, or brought up to date, if need be."""
    if sys.version_info < (3, 12):
        raise SystemExit("Some of the peers need Python 3.12 or newer: run this with it.")
    folder = FOLDER / "venv"
    program = folder / "bin" / "python"
    if not _is_current(folder, _REQUIREMENTS):
        print("Installing the peers' packages", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([program, "-m", "pip", "install", "-q", "-r", _REQUIREMENTS, "-e", ROOT], check=True)
        _mark(folder, _REQUIREMENTS)
    return program


def node_modules() -> Path | None:
    """The peers' packages for Node, installed if need be; ``None`` without Node."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return None
    folder = FOLDER / "node"
    if not _is_current(folder, _PACKAGES):
        print("Installing the peers' packages for Node", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(_PACKAGES, folder)
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit"], cwd=folder, check=True)
        _mark(folder, _PACKAGES)
    return folder / "node_modules"


@contextmanager
def redis_server() -> Iterator[str | None]:
    """The URL of a Redis server that keeps nothing on disk, ended with the block; ``None`` without Redis."""
    if shutil.which("redis-server") is None:
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="jobqueue-benchmark-") as path:
        argv = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", path]
        command = Command([*argv, "--save", "", "--appendonly", "no"], {})
        with running([command], Path(path) / "redis.log") as processes:
            end = time.monotonic() + 10
            while not _answers(port):
                processes.check()
                if time.monotonic() > end:
                    raise RuntimeError(f"Redis does not answer:\n{processes.log()}")
                time.sleep(0.05)
            yield f"redis://127.0.0.1:{port}/0"


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def _is_current(folder: Path, source: Path) -> bool:
    stamp = folder / "installed"
    return stamp.exists() and stamp.read_text() == _digest(source)


def _mark(folder: Path, source: Path) -> None:
    (folder / "installed").write_text(_digest(source))


def _digest(source: Path) -> str:
    return hashlib.sha256(source.read_bytes() + os.fsencode(sys.version)).hexdigest()

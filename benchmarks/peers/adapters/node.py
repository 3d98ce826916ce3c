"""What the peers written for Node share: a client process that enqueues what it is told on its standard input."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import ClassVar

from benchmarks.harness.processes import Command
from benchmarks.peers.peer import SQLPeer

_FOLDER = Path(__file__).resolve().parents[1] / "node"


class NodePeer(SQLPeer):
    script: ClassVar[str]

    def set_up(self) -> None:
        self._client = subprocess.Popen(
            ["node", str(_FOLDER / self.script), "client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if self._answer() != "ready":
            raise RuntimeError(f"The client of {self.title} did not start.")

    def close(self) -> None:
        self._client.terminate()
        self._client.wait()

    def enqueue(self) -> None:
        self._ask("loop 1")

    def seconds_for(self, count: int) -> float:
        return self._ask(f"loop {count}")

    def enqueue_many(self, count: int) -> None:
        self._ask(f"bulk {count}")

    def workers(self, processes: int) -> list[Command]:
        argv = ["node", str(_FOLDER / self.script), "worker"]
        return [Command(argv, {"PEER_SLOT": str(slot)}) for slot in range(processes)]

    def _ask(self, what: str) -> float:
        assert self._client.stdin is not None
        self._client.stdin.write(what + "\n")
        self._client.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self._client.stdout is not None
        return self._client.stdout.readline().strip()

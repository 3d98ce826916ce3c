"""RabbitMQ: the machine's, and one of a test's own that it may stop and start."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from tests.support.servers import Server, free_port

PORT = 5672
"""The machine's RabbitMQ, with the user guest."""

_PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


def missing() -> str:
    """Why there is no RabbitMQ here; empty when there is."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", PORT), timeout=5):
        return ""
    return f"no RabbitMQ listens on 127.0.0.1:{PORT}"


class RabbitMQServer(Server):
    """A node of its own."""

    user = "rabbitmq"

    @classmethod
    def missing(cls) -> str:
        """Why this server cannot run here; empty when it can."""
        return "" if _PROGRAM.exists() else "Debian's rabbitmq-server is not installed"

    def _set_up(self) -> None:
        self.folder.chmod(0o755)
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}//"
        self._distribution_port = free_port()

    def _command(self) -> list[str]:
        settings = {
            "HOME": self.folder,
            "RABBITMQ_NODENAME": f"jobqueue-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": self.port,
            "RABBITMQ_DIST_PORT": self._distribution_port,
            "RABBITMQ_MNESIA_BASE": self.folder / "mnesia",
            "RABBITMQ_LOG_BASE": self.folder / "log",
            "RABBITMQ_PID_FILE": self.folder / "pid",
            "RABBITMQ_ENABLED_PLUGINS_FILE": self.folder / "plugins",
            "RABBITMQ_CONFIG_FILE": self.folder / "none",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        }
        return ["env", f"--chdir={self.folder}", *(f"{k}={v}" for k, v in settings.items()), str(_PROGRAM)]

    def _probe(self) -> list[str]:
        return ["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{self.port}"]

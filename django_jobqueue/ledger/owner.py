"""Who runs an effect or holds a lock, for people to read; no rule depends on it."""

from __future__ import annotations

import os
import socket


def default_owner() -> str:
    """This process: its host and pid."""
    return f"{socket.gethostname()[:150]}:{os.getpid()}"

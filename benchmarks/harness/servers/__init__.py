"""The database servers that can be measured. ``DATABASE_URL`` names one; else the usual local port is tried."""

from __future__ import annotations

import importlib
import os
from urllib.parse import urlsplit

from benchmarks.harness.servers.base import Place, Server

_SCHEMES = {"postgres": "postgresql", "postgresql": "postgresql", "mysql": "mysql", "sqlite": "sqlite"}
_LOCAL = {
    "postgresql": "postgres://postgres@127.0.0.1:5432/postgres",
    "mysql": "mysql://root@127.0.0.1:3306/mysql",
    "sqlite": "sqlite:///",
}

VENDORS = tuple(_LOCAL)


def given_vendor() -> str:
    """The vendor of ``DATABASE_URL``; without one PostgreSQL."""
    return _SCHEMES.get(urlsplit(os.environ.get("DATABASE_URL", "")).scheme, "postgresql")


def server_of(vendor: str) -> Server:
    """The server of ``vendor``."""
    given = os.environ.get("DATABASE_URL", "")
    url = urlsplit(given if given and given_vendor() == vendor else _LOCAL[vendor])
    place = Place(
        host=url.hostname or "",
        port=url.port or 0,
        user=url.username or "",
        password=url.password or "",
        database=url.path.lstrip("/"),
    )
    module = importlib.import_module(f"benchmarks.harness.servers.{vendor}")
    server: Server = module.SERVER(place)
    return server


__all__ = ["VENDORS", "Server", "given_vendor", "server_of"]

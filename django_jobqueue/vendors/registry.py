"""From a Django connection to its vendor, and the bounded repetition of what a database asks to repeat."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, NotSupportedError
from django.db.backends.base.base import BaseDatabaseWrapper

from django_jobqueue.vendors.base import Vendor
from django_jobqueue.vendors.mysql import MySQL
from django_jobqueue.vendors.postgresql import PostgreSQL
from django_jobqueue.vendors.sqlite import SQLite

_VENDORS: dict[str, Vendor] = {"postgresql": PostgreSQL(), "mysql": MySQL(), "sqlite": SQLite()}
_ATTEMPTS = 8

T = TypeVar("T")


def is_supported(connection: BaseDatabaseWrapper) -> bool:
    """Whether there is a vendor for this connection."""
    return connection.vendor in _VENDORS


def vendor_for(connection: BaseDatabaseWrapper) -> Vendor:
    """The vendor of ``connection``. Raises ``NotSupportedError`` for a database that has none."""
    try:
        return _VENDORS[connection.vendor]
    except KeyError:
        raise NotSupportedError(
            f"django_jobqueue does not support {connection.display_name}; "
            "use PostgreSQL, MariaDB, MySQL or SQLite for the jobs' database."
        ) from None


def retry_transient(connection: BaseDatabaseWrapper, operation: Callable[[], T]) -> T:
    """Run ``operation``, again after a deadlock or lock wait, at most eight times.

    ``operation`` must be a whole transaction. Inside a caller's transaction it runs once: the database has
    rolled back more than this operation, so only the caller can repeat it.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return operation()
        except DatabaseError as error:
            transient = vendor_for(connection).is_transient(error)
            if connection.in_atomic_block or not transient or attempt == _ATTEMPTS:
                raise
        time.sleep(random.random() * 0.01 * 2**attempt)
    raise AssertionError("unreachable")

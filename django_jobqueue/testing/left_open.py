"""What a handler leaves open, on a connection that may be inside a test case's transaction."""

from __future__ import annotations

from typing import Any

from django.db import connections

from django_jobqueue.vendors import is_supported, vendor_for


class OpenTransactions:
    """The transactions that are open now, on each connection of this thread, to come back to."""

    def __init__(self) -> None:
        self._before: dict[Any, tuple[bool, list[Any], int]] = {
            connection: (
                connection.in_atomic_block,
                list(connection.savepoint_ids),
                len(getattr(connection, "atomic_blocks", ())),
            )
            for connection in connections.all(initialized_only=True)
        }

    def undo_new(self) -> bool:
        """Roll back what was opened since then and is open; whether there was anything.

        In a test case's transaction it is marked as broken, for the caller to go back to a savepoint of its own.
        """
        found = False
        for connection in connections.all(initialized_only=True):
            held: Any = connection
            was_atomic, savepoints, blocks = self._before.get(held, (False, [], 0))
            if was_atomic:
                if len(held.savepoint_ids) == len(savepoints):
                    continue
                held.needs_rollback = True
            elif not held.in_atomic_block and not _is_open(held):
                continue
            found = True
            held.savepoint_ids = list(savepoints)
            del held.atomic_blocks[blocks:]
            if not was_atomic:
                held.in_atomic_block = held.closed_in_transaction = held.needs_rollback = False
                held.run_on_commit = []
                held.rollback()
                held.set_autocommit(held.settings_dict["AUTOCOMMIT"])
        return found


def _is_open(connection: Any) -> bool:
    if connection.connection is None or not is_supported(connection):
        return False
    return vendor_for(connection).in_transaction(connection)

"""Which transaction an effect and its record are in: the rules that make them hold."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.transaction import TransactionManagementError


def refuse_broken(alias: str, what: str) -> None:
    """Raise when a statement of the transaction that is open has failed: nothing of it can be committed."""
    connection = connections[alias]
    if connection.in_atomic_block and connection.needs_rollback:
        raise TransactionManagementError(
            f"{what} was called in a transaction that is broken: it will be rolled back, and the record of the "
            "effect with it. Nothing was done. Let the atomic block end first."
        )


def refuse_open(alias: str, what: str, advice: str) -> None:
    """Raise inside a transaction, but that of a test case: what has to be committed before would not be."""
    refuse_broken(alias, what)
    if in_transaction(alias):
        raise TransactionManagementError(
            f"{what} was called inside a transaction, but what it writes must be committed before the effect. "
            f"Nothing was done. {advice}"
        )


def in_transaction(alias: str) -> bool:
    """Whether a transaction is open that the caller has begun, and not a test case around it."""
    connection = connections[alias]
    if connection.in_atomic_block and connection.atomic_blocks:
        return not getattr(connection.atomic_blocks[-1], "_from_testcase", False)
    return connection.in_atomic_block or not connection.get_autocommit()


def refuse_other_database(alias: str, what: str) -> None:
    """Raise when ``alias`` is not the database of the handlers' own writes, for one commit must hold both."""
    if alias != DEFAULT_DB_ALIAS:
        raise ImproperlyConfigured(
            f"{what} commits together with your own writes to the database {DEFAULT_DB_ALIAS!r}, but a database "
            f"router puts it into {alias!r}. Nothing was done. Route django_jobqueue to {DEFAULT_DB_ALIAS!r}, or "
            "do without atomic."
        )

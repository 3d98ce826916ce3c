"""How long a connection is waited for, and may keep others waiting."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.backends.base.base import BaseDatabaseWrapper

CONNECT_TIMEOUT = 10
"""Seconds until a connection is given up that is not made."""


class Waits:
    """The limits of a vendor; a database that knows none of them, a file say, needs none."""

    answer_timeout: ClassVar[int] = 30
    """Seconds until a worker gives up its own connection because a statement has no answer."""

    def bound_waits(self, options: dict[str, Any]) -> dict[str, Any]:
        """Django's ``OPTIONS`` with limits to how long a connection is waited for; what they say already stays."""
        return options

    def bound_answers(self, connection: BaseDatabaseWrapper) -> None:
        """Give up an open connection on which an answer takes longer than ``answer_timeout``."""

    def bound_idle_transactions(self, connection: BaseDatabaseWrapper, seconds: float) -> None:
        """Have the server end this connection when it is idle in a transaction for ``seconds``, where it can."""

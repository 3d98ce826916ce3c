"""processing, in doubt -> completed | failed: a person says what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import connections
from django.db.models import Q

from django_jobqueue.conf import settings
from django_jobqueue.exceptions import NotInDoubt
from django_jobqueue.jobs import limits
from django_jobqueue.vendors import JSONText, Now, retry_transient

if TYPE_CHECKING:
    from django_jobqueue.ledger.manager import ExecutionManager


def confirm(manager: ExecutionManager, key: str, *, attempts: int | None = None, result: Any = None) -> None:
    """It happened: the next ``once`` of this key gets ``result`` (JSON), and nothing runs.

    Also gives a result to an entry that has none because what came out was not JSON. ``attempts`` is the
    entry's number as the person saw it. Raises ``NotInDoubt``, also when a run took it over meanwhile, and
    ``InvalidJob``; then nothing was changed.
    """
    text = None if result is None else limits.dump_json("result", result, settings().MAX_RESULT_BYTES)
    _settle(
        manager,
        key,
        attempts,
        _IN_DOUBT | (Q(status="completed") & ~Q(error="")),
        status="completed",
        result=None if text is None else JSONText(text),
        error="",
        lease_expires_at=None,
        completed_at=Now(),
    )


def deny(manager: ExecutionManager, key: str, *, attempts: int | None = None) -> None:
    """It did not happen: the next ``once`` of this key runs the effect. Raises ``NotInDoubt``; see ``confirm``."""
    _settle(
        manager,
        key,
        attempts,
        _IN_DOUBT,
        status="failed",
        error="Settled by a person: it did not happen.",
        lease_expires_at=None,
    )


_IN_DOUBT = Q(status="processing", lease_expires_at__lte=Now())


def _settle(manager: ExecutionManager, key: str, attempts: int | None, guard: Q, **changes: Any) -> None:
    seen = guard if attempts is None else guard & Q(attempts=attempts)
    entries = manager.using(manager.write_alias).filter(seen, pk=key)
    if not retry_transient(connections[manager.write_alias], lambda: entries.update(**changes)):
        raise NotInDoubt(key)

"""The rule of which pending rows a claim takes from several queues: the merged order, and nobody goes empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import connections, transaction

from django_jobqueue.jobs.queryset import table_of
from django_jobqueue.vendors import Claim, retry_transient, vendor_for

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager


@dataclass(frozen=True, slots=True)
class Wanted:
    """Up to ``limit`` rows of ``queues`` (``None``: all) but ``exclude_queues``, of ``types`` (``None``: all).

    ``after``, with one queue, is a (priority, id) before which there is nothing to be found, as a hint.
    """

    limit: int
    queues: Sequence[str] | None = None
    exclude_queues: Collection[str] = ()
    types: Sequence[str] | None = None
    after: tuple[int, int] | None = None

    def named(self) -> list[str] | None:
        """The queues by name, each once; ``None`` when they have to be looked up."""
        if self.queues is None:
            return None
        return [queue for queue in dict.fromkeys(self.queues) if queue not in self.exclude_queues]


def take(manager: JobManager, claim: Claim, wanted: Wanted, *, columns: Sequence[str]) -> list[Any]:
    """Claim what is wanted; the given columns of the rows, in no order."""
    connection = connections[manager.write_alias]
    vendor = vendor_for(connection)
    table = table_of(manager.model)
    limit = wanted.limit

    def take_from(queue: str, count: int, *, sure: bool = False) -> list[Any]:
        return vendor.claim(
            connection,
            table,
            claim,
            queue=queue,
            limit=count,
            columns=columns,
            types=wanted.types,
            sure=sure,
        )

    queues = wanted.named()
    if queues is not None and len(queues) == 1:
        return retry_transient(connection, lambda: take_from(queues[0], limit))
    if queues is not None and not queues:
        return []
    heads = [head for head in vendor.heads(connection, table, queues) if head[0] not in wanted.exclude_queues]
    heads.sort(key=lambda head: (-head[1], head[2]))
    waiting = [queue for queue, _, _ in heads]
    if not waiting:
        return []
    if limit == 1 or len(waiting) == 1 or wanted.types is not None:
        shares = {waiting[0]: limit}
    else:
        # Each of the first ``limit`` jobs is behind the head of its queue, so no other queue can give one.
        merged = vendor.peek(connection, table, waiting[:limit], limit=limit)
        merged.sort(key=lambda head: (-head[1], head[2]))
        shares = Counter(queue for queue, _, _ in merged[:limit])

    def merge() -> list[Any]:
        # Each queue gives its share of the merged order. Only rows that are taken get locked, so no other
        # claimer goes away empty; what others took meanwhile is made up from any queue that has more.
        rows: list[Any] = []
        with transaction.atomic(using=connection.alias) if len(waiting) > 1 else nullcontext():
            spent = set()
            for queue, share in shares.items():
                rows += (taken := take_from(queue, share, sure=wanted.types is None))
                if len(taken) < share:
                    spent.add(queue)
            for queue in waiting:
                if len(rows) == limit:
                    break
                if queue not in spent:
                    rows += take_from(queue, limit - len(rows))
        return rows

    return retry_transient(connection, merge)

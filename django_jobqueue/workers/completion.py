"""running -> completed, in one transaction with what the handler writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import transaction

from django_jobqueue.exceptions import ClaimLost, InvalidJob, PermanentFailure
from django_jobqueue.jobs.running.complete import dump_result, never_ran
from django_jobqueue.ledger.transactions import refuse_open, refuse_other_database
from django_jobqueue.vendors import HeldClaim
from django_jobqueue.workers.keeping import is_kept, rows_stay

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.workers.job import RunningJob

_ADVICE = "Begin it outside of transactions; it is one itself."


class Completion:
    """The end of a job that commits with its handler's writes. Set ``result`` before the block ends."""

    __slots__ = ("result",)

    def __init__(self) -> None:
        self.result: Any = None


@contextmanager
def complete_in_transaction(manager: JobManager, job: RunningJob) -> Iterator[Completion]:
    """A transaction that completes ``job`` as its last act. See ``RunningJob.complete_in_transaction``."""
    alias = manager.write_alias
    what = f"Completing job {job.id} in a transaction"
    refuse_other_database(alias, what)
    refuse_open(alias, what, _ADVICE)
    completion = Completion()
    try:
        with transaction.atomic(using=alias):
            yield completion
            text = _dump(completion.result)
            # Told before the commit: the worker that renews the claim in between must not take it for lost.
            job.completed = True
            kept = is_kept(job, rows_stay=rows_stay(job.type, job.queue))
            if not manager.complete_claims([HeldClaim(job.id, job.fencing_token, text, kept)]):
                raise ClaimLost(job.id)
    except BaseException:
        job.completed = False
        raise


def _dump(result: Any) -> str | None:
    if what := never_ran(result):
        raise PermanentFailure(what)
    try:
        return None if result is None else dump_result(result)
    except InvalidJob as error:
        raise PermanentFailure(f"The handler's writes were rolled back: its {error}") from None

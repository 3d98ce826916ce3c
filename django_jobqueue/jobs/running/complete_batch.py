"""running -> completed, many at once, with an outcome for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs.running.complete import dump_result

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager


@dataclass(frozen=True, slots=True)
class Completion:
    """The success of one claim."""

    id: int
    fencing_token: int
    result: Any = None


def complete_batch(manager: JobManager, completions: Sequence[Completion], *, claimed_by: str) -> list[str]:
    """Record the success of claims that ``claimed_by`` holds, in one transaction; an outcome per item.

    Outcomes: ``ok``; ``already`` (completed before by the same claim); ``claim_lost`` (no longer current, or
    another principal's); ``not_found``. Raises ``InvalidJob`` for a bad result, before anything is touched.
    """
    results: dict[int, str | None] = {}
    for index, item in enumerate(completions):
        try:
            results[item.id] = None if item.result is None else dump_result(item.result)
        except InvalidJob as error:
            raise InvalidJob(f"[{index}].{error.field}", error.problem) from None
    # Whose claim it is never changes while the token stays, so a read before the guarded write tells it.
    before = _outcomes(manager, completions, claimed_by)
    held = [item for item in completions if before[item.id] == "held"]
    done = manager.complete_many([(item.id, item.fencing_token, results[item.id]) for item in held])
    missed = [item for item in held if item.id not in done]
    after = _outcomes(manager, missed, claimed_by) if missed else {}
    ends = {**before, **after, **dict.fromkeys(done, "ok")}
    return ["claim_lost" if ends[item.id] == "held" else ends[item.id] for item in completions]


def _outcomes(manager: JobManager, completions: Sequence[Completion], claimed_by: str) -> dict[int, str]:
    """What each claim is now, by job: ``held``, ``already``, ``claim_lost`` or ``not_found``."""
    rows = manager.using(manager.write_alias).filter(pk__in=[item.id for item in completions])
    claims = {
        id: (status, token, holder)
        for id, status, token, holder in rows.values_list("pk", "status", "fencing_token", "claimed_by")
    }
    outcomes = {}
    for item in completions:
        status, *claim = claims.get(item.id, ("",))
        if not status:
            outcomes[item.id] = "not_found"
        elif claim != [item.fencing_token, claimed_by]:
            outcomes[item.id] = "claim_lost"
        else:
            outcomes[item.id] = {"running": "held", "completed": "already"}.get(status, "claim_lost")
    return outcomes

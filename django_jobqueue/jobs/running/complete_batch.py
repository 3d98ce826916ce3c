"""running -> completed, many at once, with an outcome for each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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

    Outcomes: ``ok``; ``already`` (completed before by the same claim, or by an earlier item of this batch);
    ``claim_lost`` (no longer current, or another principal's); ``not_found``. Raises ``InvalidJob`` for a bad
    result, before anything is touched.
    """
    results: dict[tuple[int, int], str | None] = {}
    for index, item in enumerate(completions):
        try:
            text = None if item.result is None else dump_result(item.result)
        except InvalidJob as error:
            raise InvalidJob(f"[{index}].{error.field}", error.problem) from None
        results.setdefault((item.id, item.fencing_token), text)
    # Whose claim it is never changes while the token stays, so a read before the guarded write tells it.
    outcomes = _outcomes(manager, results, claimed_by)
    held = [claim for claim in results if outcomes[claim] == "held"]
    done = manager.complete_many([(*claim, results[claim]) for claim in held])
    if missed := [claim for claim in held if claim[0] not in done]:
        outcomes |= _outcomes(manager, missed, claimed_by)
    new = {claim for claim in held if claim[0] in done}
    answers = []
    for item in completions:
        claim = (item.id, item.fencing_token)
        if claim in new:
            new.remove(claim)
            answers.append("ok")
            outcomes[claim] = "already"
        else:
            answers.append("claim_lost" if outcomes[claim] == "held" else outcomes[claim])
    return answers


def _outcomes(
    manager: JobManager, claims: Collection[tuple[int, int]], claimed_by: str
) -> dict[tuple[int, int], str]:
    """What each claim is now: ``held``, ``already`` (completed), ``claim_lost`` or ``not_found``."""
    rows = manager.using(manager.write_alias).filter(pk__in={id for id, _ in claims})
    now = {row[0]: row for row in rows.values_list("pk", "fencing_token", "claimed_by", "status")}
    ends = {"running": "held", "completed": "already"}
    outcomes = {}
    for id, token in claims:
        if id not in now:
            outcomes[id, token] = "not_found"
        elif now[id][:3] == (id, token, claimed_by):
            outcomes[id, token] = ends.get(now[id][3], "claim_lost")
        else:
            outcomes[id, token] = "claim_lost"
    return outcomes

"""What came of a run of the demo, as a table and a verdict. Pure: evidence in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django_jobqueue.jobs.status import FINISHED

STATUSES = ("completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job as the database has it after the run."""

    key: str
    type: str
    status: str
    retries: int = 0
    max_retries: int = 3
    error: str = ""


@dataclass(frozen=True, slots=True)
class Effect:
    """What jobs did outside: ``owed`` by the keys whose jobs completed; ``done`` counts it by key."""

    name: str
    owed: frozenset[str]
    done: Mapping[str, int]

    @property
    def twice(self) -> list[str]:
        return sorted(key for key, count in self.done.items() if count > 1)

    @property
    def missing(self) -> list[str]:
        return sorted(key for key in self.owed if not self.done.get(key))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was asked for, what the jobs' table says, and what the other side saw.

    ``enqueued`` holds the key of every job that the demo was told is stored. ``refused`` counts how many of
    the ``repeated`` enqueues were answered with the job that was there. ``charges`` has by key how often the
    gateway was asked and how often it charged. ``cut_off`` is how many attempts ended with their worker, and
    ``failures`` are steps of the demo that went wrong.
    """

    enqueued: Sequence[str]
    repeated: int
    refused: int
    jobs: Sequence[JobRow]
    effects: Sequence[Effect]
    charges: Mapping[str, tuple[int, int]]
    cut_off: int
    failures: Sequence[str] = ()


def count_lost(evidence: Evidence) -> int:
    """How many enqueued jobs are in no end state, or not in the table at all."""
    ended = {job.key for job in evidence.jobs if job.status in FINISHED}
    return sum(key not in ended for key in evidence.enqueued)


def find_problems(evidence: Evidence) -> list[str]:
    """Everything that should not be, lost jobs aside, as sentences."""
    found = list(evidence.failures)
    if evidence.refused != evidence.repeated:
        found.append(
            f"{evidence.repeated - evidence.refused} repeated enqueues were not recognised by their key."
        )
    if extra := len(evidence.jobs) - len(set(evidence.enqueued)):
        found.append(f"The table has {extra:+d} jobs compared with what was enqueued.")
    for job in evidence.jobs:
        if job.status in FINISHED and job.status != "completed" and job.max_retries:
            found.append(f"{job.key} ended as {job.status} after {job.retries} retries: {job.error}")
    for effect in evidence.effects:
        found += [f"{effect.name}: {key} happened {effect.done[key]} times." for key in effect.twice]
        found += [f"{effect.name}: {key} never happened, but its job completed." for key in effect.missing]
    for key, (asked, _) in evidence.charges.items():
        if asked > 1:
            found.append(f"{key} was tried {asked} times, but a charge must never be retried by itself.")
    return found


def verdict(evidence: Evidence) -> tuple[str, int]:
    """The last line and the exit code: ``lost 0`` and 0 only if all is well."""
    lost, problems = count_lost(evidence), find_problems(evidence)
    line = f"lost {lost}"
    if problems:
        line += f", and {len(problems)} {'problem' if len(problems) == 1 else 'problems'} (see above)"
    return line, 1 if lost or problems else 0


def render(evidence: Evidence) -> str:
    """The tables, what waits for a person, and the problems if there are any."""
    parts = [_jobs_table(evidence), _effects_table(evidence), _for_a_person(evidence)]
    if problems := find_problems(evidence):
        parts.append("Problems:\n" + "\n".join(f"  - {problem}" for problem in problems))
    return "\n\n".join(part for part in parts if part)


def _jobs_table(evidence: Evidence) -> str:
    rows = [["jobs", "enqueued", *STATUSES, "not ended", "retries"]]
    types = sorted({job.type for job in evidence.jobs})
    for type in types:
        rows.append(_jobs_row(type, [job for job in evidence.jobs if job.type == type]))
    rows.append(_jobs_row("all", evidence.jobs))
    return (
        f"{_columns(rows)}\n"
        f"Enqueued again with the same keys: {evidence.repeated}; duplicates refused: {evidence.refused}; "
        f"attempts cut off by the kill: {evidence.cut_off}."
    )


def _jobs_row(name: str, jobs: Sequence[JobRow]) -> list[str]:
    counts = [sum(job.status == status for job in jobs) for status in STATUSES]
    numbers = [len(jobs), *counts, len(jobs) - sum(counts), sum(job.retries for job in jobs)]
    return [name, *map(str, numbers)]


def _effects_table(evidence: Evidence) -> str:
    rows = [["effects", "by completed jobs", "counted outside", "twice"]]
    for effect in evidence.effects:
        done = sum(effect.done.values())
        rows.append([effect.name, *map(str, (len(effect.owed), done, len(effect.twice)))])
    return _columns(rows)


def _for_a_person(evidence: Evidence) -> str:
    failed = [job for job in evidence.jobs if job.status == "failed" and not job.max_retries]
    if not failed:
        return ""
    lines = [
        f"A person decides about {len(failed)} charges: with max_retries=0 none is tried again by itself.",
        "What the gateway says about each, and what the job ended with:",
    ]
    for job in failed:
        charged = evidence.charges.get(job.key, (0, 0))[1]
        known = {0: "not charged", 1: "charged once"}.get(charged, f"charged {charged} times")
        lines.append(f"  {job.key}  {known:<12}  {job.error}")
    return "\n".join(lines)


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(cells: Iterable[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])

    head, *body = rows
    return "\n".join([line(head), line("-" * width for width in widths), *map(line, body)])

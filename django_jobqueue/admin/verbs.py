"""What an operator does to jobs: the verbs of ``Job.objects``, one guarded change of state for each job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django_jobqueue.exceptions import JobNotFound, TransitionRefused, WrongStatus
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.status import Status, sources

LIMIT = 1000
"""Jobs that one request works on; the rest are for the next request."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: its name on ``Job.objects`` and in the codename of its permission, and how people say it."""

    name: str
    label: str
    done: str
    asked: str = ""
    caution: str = ""

    @property
    def permissions(self) -> tuple[str, str]:
        """Either of these allows it."""
        return f"django_jobqueue.{self.name}_job", "django_jobqueue.manage_job"

    def applies_to(self, status: str) -> bool:
        return status in sources(self.name)


VERBS = {
    verb.name: verb
    for verb in (
        Verb("retry", "Retry", "retried"),
        Verb("run_now", "Run now", "made pending"),
        Verb("cancel", "Cancel", "cancelled", asked="asked to cancel"),
        Verb(
            "release",
            "Release",
            "released",
            caution="A worker that still runs a released job learns it at its next report, which is refused.",
        ),
    )
}


@dataclass(slots=True)
class Report:
    """What became of the jobs of one request; as text ``8 retried, 2 skipped (running)``."""

    verb: Verb
    done: int = 0
    asked: int = 0
    cancelled: int = 0
    """Released, which ends a job whose cancel was requested."""
    skipped: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        parts = []
        if self.done or not (self.asked or self.cancelled):
            parts.append(f"{self.done:,} {self.verb.done}")
        if self.asked:
            parts.append(f"{self.asked:,} {self.verb.asked} (running)")
        if self.cancelled:
            parts.append(f"{self.cancelled:,} cancelled (as requested before)")
        if self.skipped:
            parts.append(f"{self.skipped.total():,} skipped ({self._reasons()})")
        return ", ".join(parts)

    def about(self, job: Job) -> str:
        """The report of one job, as a sentence."""
        if self.skipped:
            return f"Job {job.pk} was skipped ({self._reasons()})."
        if self.cancelled:
            return f"Job {job.pk} was cancelled, as requested before."
        return f"Job {job.pk} was {self.verb.done if self.done else self.verb.asked}."

    def _reasons(self) -> str:
        if len(self.skipped) == 1:
            return next(iter(self.skipped))
        return ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.skipped.items()))


def act(
    verb: Verb,
    jobs: Iterable[tuple[int, datetime]],
    *,
    changed: Callable[[Job, str], Any],
    **arguments: Any,
) -> Report:
    """Apply ``verb`` to each of ``jobs``, given as (id, ``updated_at`` as last read).

    A job that the verb does not apply to by now is skipped and keeps what others wrote. ``changed`` is called
    after each change, with the job and what was done to it.
    """
    report = Report(verb)
    for job_id, read_at in jobs:
        try:
            job: Job = getattr(Job.objects, verb.name)(job_id, **arguments)
        except WrongStatus as refusal:
            report.skipped[refusal.status] += 1
        except TransitionRefused:
            report.skipped["claimed again meanwhile"] += 1
        except JobNotFound:
            report.skipped["gone"] += 1
        else:
            if job.updated_at == read_at:  # such a verb repeats itself without a change
                report.skipped[job.status] += 1
            elif verb.name == "release" and job.status == Status.CANCELLED:
                report.cancelled += 1
                changed(job, "cancelled")
            elif verb.asked and job.status == Status.RUNNING:
                report.asked += 1
                changed(job, verb.asked)
            else:
                report.done += 1
                changed(job, verb.done)
    return report

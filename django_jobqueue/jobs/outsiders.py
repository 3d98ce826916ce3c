"""What those may do and see who come from outside the code, over HTTP or by the admin: one rule for both."""

from __future__ import annotations

from typing import Any

from django_jobqueue import registry
from django_jobqueue.conf import settings
from django_jobqueue.jobs.model import Job

PRIVATE = ("payload", "result", "error", "progress", "meta")
"""What ``view_job_payload`` guards of a job, with the text of its attempts."""


def open_types() -> set[str]:
    """The types that may be enqueued from outside: those with a handler here, and ``EXTERNAL_JOB_TYPES``.

    What the outbox delivers is signed with the project's secrets, so its types are open only when they are listed.
    """
    own = {known for known in registry.types() if not known.startswith(registry.OWN_PREFIX)}
    return {*own, *settings().EXTERNAL_JOB_TYPES}


def may_read(user: Any, job: Job) -> bool:
    """Whether ``user`` may read what is ``PRIVATE`` of ``job``: it is its own, or the user has the permission."""
    own = user.get_username() in (job.enqueued_by, job.claimed_by)
    return own or bool(user.has_perm(f"{Job._meta.app_label}.view_job_payload"))

"""Whether this project has a handler for a job, as far as that is known without importing anything."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from django_jobqueue.admin.filters import known_types
from django_jobqueue.jobs.new_job import TASK
from django_jobqueue.models import Job


def has_handler(job: Job) -> bool:
    """Whether one is known, or a task may be there: its module is no page's to import."""
    return job.type in known_types() or (TASK in job.meta and _may_lead_to_a_task(job.type))


def _may_lead_to_a_task(path: str) -> bool:
    module, _, name = path.rpartition(".")
    if module in sys.modules:
        return name in vars(sys.modules[module])
    package = module.partition(".")[0]
    try:
        return package in sys.modules or find_spec(package) is not None
    except ValueError:  # no name of a module
        return False

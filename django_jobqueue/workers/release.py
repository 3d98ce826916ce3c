"""running -> pending, for all that a worker holds when it can wait no longer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from django.db import Error as DatabaseFault

from django_jobqueue.workers.acks import Acks
from django_jobqueue.workers.leases import Leases
from django_jobqueue.workers.outcome import Released

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager

logger = logging.getLogger("django_jobqueue.worker")


def release_held(manager: JobManager, acks: Acks, leases: Leases) -> None:
    """Write the ends that are known and release every other claim. Never raises."""
    try:
        acks.flush()
        for job in leases.jobs():
            acks.add(job, Released(0.0, "The worker was stopped before the job could finish."))
        acks.flush()
    except DatabaseFault as error:
        logger.error(
            "%d jobs could not be given back (%s); they come back when their leases have run out",
            len(leases),
            type(error).__name__,
        )
    except BaseException:
        logger.critical("The ends of jobs cannot be written; the jobs are given back", exc_info=True)
        _release_each(manager, leases)


def _release_each(manager: JobManager, leases: Leases) -> None:
    for job in leases.jobs():
        try:
            manager.release(job.id, fencing_token=job.fencing_token, reason="The worker failed.")
        except BaseException:
            logger.exception(
                "Job %s could not be given back; it comes back when its lease has run out", job.id
            )
        leases.drop(job)

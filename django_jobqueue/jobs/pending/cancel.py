"""scheduled | pending -> cancelled; running: a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Coalesce

from django_jobqueue.exceptions import JobNotFound, WrongStatus
from django_jobqueue.jobs.queryset import transition
from django_jobqueue.jobs.status import WAITING
from django_jobqueue.vendors import ExactCharField, Now

if TYPE_CHECKING:
    from django_jobqueue.jobs.manager import JobManager
    from django_jobqueue.jobs.model import Job


def cancel(manager: JobManager, job_id: int) -> Job:
    """Cancel a waiting job at once; ask it of a running one, whose next end is then ``cancelled``.

    Cancelling a cancelled job again returns it. Raises ``WrongStatus`` for a completed or failed one and
    ``JobNotFound``.
    """
    waiting = Q(status__in=WAITING)
    job = transition(
        manager,
        job_id,
        "cancel",
        # The status comes last: a database may assign from left to right, and the case above it reads it.
        finished_at=Case(When(waiting, then=Now()), default=F("finished_at")),
        cancel_requested_at=Coalesce(F("cancel_requested_at"), Now()),
        status=Case(
            When(waiting, then=Value("cancelled")), default=F("status"), output_field=ExactCharField()
        ),
    )
    if job is not None:
        return job
    found = manager.using(manager.write_alias).filter(pk=job_id).first()
    if found is None:
        raise JobNotFound(job_id)
    if found.status != "cancelled":
        raise WrongStatus(job_id, found.status, "cancel")
    return found

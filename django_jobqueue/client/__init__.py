"""A client of the HTTP protocol, for programs that have no Django (the extra ``client``).

``JobQueue`` waits for each answer; ``AsyncJobQueue`` has the same methods to be awaited. Calls that are safe to
repeat are repeated when the answer is lost or the server asks to come again.
"""

from django_jobqueue.client.aio import AsyncJobQueue
from django_jobqueue.client.errors import ClaimLost, Invalid, JobQueueClientError, Refused, Unavailable
from django_jobqueue.client.sync import JobQueue
from django_jobqueue.client.values import Claim, Job, Lease

__all__ = [
    "AsyncJobQueue",
    "Claim",
    "ClaimLost",
    "Invalid",
    "Job",
    "JobQueue",
    "JobQueueClientError",
    "Lease",
    "Refused",
    "Unavailable",
]

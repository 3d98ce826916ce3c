"""The models, under the names that Django and users import."""

from django_jobqueue.jobs.attempt import JobAttempt
from django_jobqueue.jobs.claim_request import ClaimRequest
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.priority import Priority
from django_jobqueue.jobs.status import Status
from django_jobqueue.ledger.model import JobExecution, JobLock

__all__ = ["ClaimRequest", "Job", "JobAttempt", "JobExecution", "JobLock", "Priority", "Status"]

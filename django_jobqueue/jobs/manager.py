"""The state machine on one screen: every verb of a job's life, bound to ``Job.objects``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models, router

from django_jobqueue.jobs.enqueue import enqueue, enqueue_many
from django_jobqueue.jobs.finished.prune import count_prunable, prune
from django_jobqueue.jobs.finished.retry import retry
from django_jobqueue.jobs.pending.cancel import cancel
from django_jobqueue.jobs.pending.claim import claim, claim_many
from django_jobqueue.jobs.queryset import JobQuerySet
from django_jobqueue.jobs.running.complete import complete, complete_claims, complete_many
from django_jobqueue.jobs.running.exchange import exchange
from django_jobqueue.jobs.running.fail import fail
from django_jobqueue.jobs.running.heartbeat import heartbeat, renew_many
from django_jobqueue.jobs.running.reap import list_stale, reap, reap_batches
from django_jobqueue.jobs.running.release import release
from django_jobqueue.jobs.running.retry_or_fail import retry_or_fail
from django_jobqueue.jobs.scheduled.promote import promote, run_now

if TYPE_CHECKING:
    from django_jobqueue.jobs.model import Job  # noqa: F401 - the manager's type argument


class JobManager(models.Manager["Job"]):
    """The verbs of ``Job.objects``. Each is one guarded change of state; see ``status.EDGES``."""

    # -> pending | scheduled
    enqueue = enqueue
    enqueue_many = enqueue_many
    # scheduled -> pending
    promote = promote
    run_now = run_now
    # pending -> running
    claim = claim
    claim_many = claim_many
    # running -> running
    heartbeat = heartbeat
    renew_many = renew_many
    # running -> completed
    complete = complete
    complete_many = complete_many
    complete_claims = complete_claims
    # running -> completed and pending -> running at once
    exchange = exchange
    # running -> pending | scheduled | failed | cancelled: the one place of the retry decision, its callers
    retry_or_fail = retry_or_fail
    fail = fail
    reap = reap
    reap_batches = reap_batches
    list_stale = list_stale
    # running -> pending | scheduled | cancelled
    release = release
    # scheduled | pending -> cancelled; running: a request
    cancel = cancel
    # failed | cancelled -> pending
    retry = retry
    # completed | failed | cancelled -> gone
    prune = prune
    count_prunable = count_prunable

    def get_queryset(self) -> JobQuerySet:
        return JobQuerySet(self.model, using=self._db, hints=self._hints)  # type: ignore[attr-defined]

    @property
    def write_alias(self) -> str:
        """The database that the jobs are written to, and the only one their state is read from."""
        return self._db or router.db_for_write(self.model, **self._hints)  # type: ignore[attr-defined]

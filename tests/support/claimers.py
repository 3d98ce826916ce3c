"""What the processes of the race tests do. Each writes what it got, one JSON value a line, into its own file.

A process that meets an error ends with a traceback and a non-zero exit code, which the test looks at.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from django_jobqueue.exceptions import ClaimLost, JobNotFound, TransitionRefused
from django_jobqueue.jobs.pending.take import Wanted
from django_jobqueue.models import Job
from django_jobqueue.vendors import Claim, HeldClaim, Now


def _write(path: str, values: list[Any]) -> None:
    Path(path).write_text("".join(json.dumps(value) + "\n" for value in values))


def claim_all(
    barrier: Any, path: str, worker: str, *, limit: int, queues: list[str] | None, exchange: bool
) -> None:
    """Claim until there is nothing left; writes (id, fencing token)."""
    got: list[Any] = []
    connection.ensure_connection()
    barrier.wait(30)
    while True:
        if exchange:
            claim = Claim(worker_id=worker, claimed_by="", lease_seconds=60)
            _, rows = Job.objects.exchange([], claim, Wanted(limit, queues))
            taken = [(row[0], row[7]) for row in rows]
        else:
            jobs = Job.objects.claim_many(worker_id=worker, limit=limit, queues=queues)
            taken = [(job.pk, job.fencing_token) for job in jobs]
        assert len(taken) <= limit
        if not taken:
            break
        got += taken
    _write(path, got)


def claim_one_a_round(
    barrier: Any, path: str, worker: str, *, rounds: int, queues: list[str] | None, types: list[str] | None
) -> None:
    """Claim one job a round, at the same moment as the others; writes the id (or null) of each round."""
    got = []
    connection.ensure_connection()
    for _ in range(rounds):
        barrier.wait(30)  # the test has put as many jobs there as there are claimers
        job = Job.objects.claim(worker_id=worker, queues=queues, types=types)
        got.append(job and job.pk)
        barrier.wait(30)
    _write(path, got)


def complete_in_turn(barrier: Any, path: str, claims: list[tuple[int, int]], *, many: bool) -> None:
    """Complete one job a round; writes the ids that were accepted."""
    accepted = []
    connection.ensure_connection()
    for job_id, token in claims:
        barrier.wait(30)
        time.sleep(random.random() * 0.004)
        if many:
            accepted += Job.objects.complete_many([(job_id, token, '"done"')])
            continue
        try:
            Job.objects.complete(job_id, fencing_token=token, result="done")
        except ClaimLost:
            continue
        accepted.append(job_id)
    _write(path, accepted)


def fail_in_turn(barrier: Any, path: str, claims: list[tuple[int, int]]) -> None:
    """Report the failure of one job a round; writes the ids that were accepted."""
    accepted = []
    connection.ensure_connection()
    for job_id, token in claims:
        barrier.wait(30)
        time.sleep(random.random() * 0.004)
        try:
            Job.objects.fail(job_id, error="boom", fencing_token=token)
        except ClaimLost:
            continue
        accepted.append(job_id)
    _write(path, accepted)


def reap_in_turn(barrier: Any, path: str, *, rounds: int) -> None:
    """Reap the stalest job once a round; writes the ids that were reaped."""
    reaped = []
    connection.ensure_connection()
    for _ in range(rounds):
        barrier.wait(30)
        time.sleep(random.random() * 0.003)
        reaped += [job.pk for job in Job.objects.reap(limit=1)]
    _write(path, reaped)


def cancel_in_turn(barrier: Any, path: str, claims: list[tuple[int, int]]) -> None:
    """Ask to cancel one job a round; writes the status that each answer had."""
    answers = []
    connection.ensure_connection()
    for job_id, _ in claims:
        barrier.wait(30)
        time.sleep(random.random() * 0.004)
        answers.append(Job.objects.cancel(job_id).status)
    _write(path, answers)


def enqueue_keys(barrier: Any, path: str, keys: list[list[str]], *, in_transaction: bool) -> None:
    """Enqueue a few keys a round, at the same moment as the others; writes (key, id, replayed) of each."""
    got = []
    connection.ensure_connection()
    for some in keys:
        barrier.wait(30)
        new = [{"type": "test.noop", "payload": {"key": key}, "idempotency_key": key} for key in some]
        if len(new) > 1:
            jobs = [outcome.job for outcome in Job.objects.enqueue_many(new)]
        elif in_transaction:
            with transaction.atomic():
                jobs = [Job.objects.enqueue(**new[0])]
                time.sleep(random.random() * 0.002)
        else:
            jobs = [Job.objects.enqueue(**new[0])]
        got += [(job.idempotency_key, job.pk, job.replayed) for job in jobs if job]
    _write(path, got)


class Mix:
    """Everything at once, on few jobs, so that all meet. Notes what was created and how each job ended."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.worker = f"worker-{seed}"
        self.created: list[int] = []
        self.ended: list[tuple[int, str]] = []

    def enqueue(self) -> None:
        keys = [f"key-{self.random.randrange(40)}" for _ in range(6)]
        queues = [self.random.choice("ab") for _ in keys]
        new = [
            {
                "type": "test.noop",
                "idempotency_key": key,
                "queue": queue,
                "priority": self.random.randrange(3),
            }
            for key, queue in zip(keys, queues, strict=True)
        ]
        outcomes = Job.objects.enqueue_many(new)
        self.created += [outcome.id for outcome in outcomes if outcome.outcome == "created"]

    def run(self) -> None:
        queues = self.random.choice([None, ["a"], ["b", "a"]])
        jobs = Job.objects.claim_many(
            worker_id=self.worker, limit=4, queues=queues, lease_seconds=self.random.choice([0.001, 60])
        )
        self.random.shuffle(jobs)
        Job.objects.renew_many([(job.pk, job.fencing_token) for job in jobs[:2]], lease_seconds=1)
        done = Job.objects.complete_many([(job.pk, job.fencing_token, "1") for job in jobs[:2]])
        self.ended += [(job_id, "completed") for job_id in done]
        for job in jobs[2:]:
            try:
                after = Job.objects.fail(job.pk, error="boom", fencing_token=job.fencing_token)
            except (TransitionRefused, JobNotFound):
                continue
            self._note(after)

    def exchange(self) -> None:
        claim = Claim(worker_id=self.worker, claimed_by="", lease_seconds=60)
        _, rows = Job.objects.exchange([], claim, Wanted(3, ["a"]))
        mine = [HeldClaim(row[0], row[7]) for row in rows]
        done, more = Job.objects.exchange(mine, claim, Wanted(1, ["a"]))
        self.ended += [(job_id, "completed") for job_id in done]
        for row in more:
            self._note(Job.objects.release(row[0], fencing_token=row[7], delay=self.random.choice([0, 0.01])))

    def tidy(self) -> None:
        for job in Job.objects.reap():
            self._note(job)
        Job.objects.promote()
        Job.objects.prune(older_than=0, batch_size=5)

    def manage(self) -> None:
        for job in Job.objects.order_by("?")[:2]:
            verb = self.random.choice([Job.objects.cancel, Job.objects.run_now])
            try:
                after = verb(job.pk)
            except (TransitionRefused, JobNotFound):
                continue
            if after.status == "cancelled" and job.status != "cancelled":
                self.ended.append((job.pk, "cancelled"))

    def _note(self, job: Job) -> None:
        if job.status in ("failed", "cancelled"):
            self.ended.append((job.pk, job.status))


def mix_everything(barrier: Any, path: str, seed: int, *, seconds: float) -> None:
    """Do everything for some seconds, then note (what, id, status)."""
    mix = Mix(seed)
    connection.ensure_connection()
    barrier.wait(30)
    end = time.monotonic() + seconds
    acts = [mix.enqueue, mix.run, mix.exchange, mix.tidy, mix.manage]
    while time.monotonic() < end:
        mix.random.choice(acts)()
    _write(path, [("created", job_id, "") for job_id in mix.created] + [("ended", *end) for end in mix.ended])


def hold_row(barrier: Any, path: str, job_id: int) -> None:
    """Hold the lock of a job's row from the first to the second meeting at the barrier."""
    with transaction.atomic():
        Job.objects.filter(pk=job_id).update(updated_at=Now())
        barrier.wait(30)
        barrier.wait(30)
    _write(path, [])

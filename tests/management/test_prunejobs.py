from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from django_jobqueue.models import Job, JobAttempt
from django_jobqueue.vendors import Now


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("prunejobs", *arguments, stdout=out)
    return out.getvalue()


def ended(jobs, status: str, days_ago: float) -> Job:
    job = jobs.enqueue("test.noop", max_retries=0)
    claimed = jobs.claim(worker_id="w")
    if status == "completed":
        jobs.complete(job.pk, fencing_token=claimed.fencing_token)
    elif status == "failed":
        jobs.fail(job.pk, error="boom", fencing_token=claimed.fencing_token)
    else:
        jobs.release(job.pk, fencing_token=claimed.fencing_token)
        jobs.cancel(job.pk)
    jobs.filter(pk=job.pk).update(finished_at=Now(-days_ago * 86400))
    return job


def test_old_jobs_go_and_young_ones_stay(jobs):
    ended(jobs, "completed", 8)
    young = ended(jobs, "completed", 6)
    assert run("--older-than=7") == "1 jobs were deleted.\n"
    assert list(jobs.values_list("pk", flat=True)) == [young.pk]


def test_attempts_go_with_their_job(jobs):
    ended(jobs, "failed", 8)
    run("--older-than=7")
    assert not JobAttempt.objects.exists()


def test_only_the_statuses_asked_for_go(jobs):
    ended(jobs, "completed", 8)
    failed = ended(jobs, "failed", 8)
    ended(jobs, "cancelled", 8)
    run("--older-than=7", "--status=completed", "--status=cancelled")
    assert list(jobs.values_list("pk", flat=True)) == [failed.pk]


def test_live_jobs_stay_whatever_their_age(jobs):
    jobs.enqueue("test.noop")
    jobs.enqueue("test.noop")
    jobs.claim(worker_id="w")
    jobs.update(created_at=Now(-900 * 86400), updated_at=Now(-900 * 86400))
    run("--older-than=0")
    assert jobs.count() == 2


def test_it_works_in_batches(jobs):
    for _ in range(5):
        ended(jobs, "completed", 8)
    assert run("--older-than=7", "--batch-size=2") == "5 jobs were deleted.\n"


def test_a_dry_run_only_counts(jobs):
    ended(jobs, "completed", 8)
    assert json.loads(run("--older-than=7", "--dry-run", "--json")) == {"dry_run": True, "pruned": 1}
    assert jobs.count() == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--older-than=-1"], "--older-than: must be from 0"),
        (["--older-than=1", "--batch-size=0"], "--batch-size: must be from 1"),
        (["--older-than=1", "--status=pending"], "invalid choice: 'pending'"),
        ([], "--older-than"),
    ],
)
def test_bad_options_are_refused_by_name(jobs, arguments: list[str], message: str):
    with pytest.raises(CommandError, match=message):
        run(*arguments)

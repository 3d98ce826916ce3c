from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from django_jobqueue.models import Job
from tests.support.processes import wait_until


def run(*arguments: str, **options: object) -> str:
    out = StringIO()
    call_command("reapstale", *arguments, stdout=out, **options)
    return out.getvalue()


def stale_job(jobs, **options: object) -> Job:
    job = jobs.enqueue("test.noop", **options)
    jobs.claim(worker_id="gone", lease_seconds=0.001)
    wait_until(lambda: jobs.list_stale().filter(pk=job.pk).exists())
    return job


def test_a_stale_job_is_pending_again_and_the_command_says_so(jobs):
    job = stale_job(jobs)
    assert run() == "1 stale jobs reaped: 1 now pending.\n"
    assert jobs.get(pk=job.pk).status == "pending"


def test_a_stale_job_without_retries_left_ends_as_failed(jobs):
    job = stale_job(jobs, max_retries=0)
    assert run() == "1 stale jobs reaped: 1 now failed.\n"
    assert jobs.get(pk=job.pk).status == "failed"


def test_a_job_whose_lease_holds_is_left_alone(jobs):
    jobs.enqueue("test.noop")
    job = jobs.claim(worker_id="alive", lease_seconds=60)
    assert run() == "No stale jobs.\n"
    assert jobs.get(pk=job.pk).status == "running"


def test_older_than_goes_by_the_age_of_the_claim_whatever_the_lease(jobs):
    jobs.enqueue("test.noop")
    job = jobs.claim(worker_id="alive", lease_seconds=60)
    assert run("--older-than=100") == "No stale jobs.\n"
    wait_until(lambda: jobs.list_stale(older_than=0.02).exists())
    run("--older-than=0.02")
    assert jobs.get(pk=job.pk).status == "pending"


def test_a_dry_run_changes_nothing(jobs):
    job = stale_job(jobs)
    before = jobs.filter(pk=job.pk).values().get()
    assert run("--dry-run") == "1 stale jobs would be reaped.\n"
    assert jobs.filter(pk=job.pk).values().get() == before


def test_json_is_one_object(jobs):
    stale_job(jobs)
    assert json.loads(run("--json")) == {"dry_run": False, "pending": 1}


def test_verbosity_two_names_each_job(jobs):
    job = stale_job(jobs)
    assert f"Job {job.pk} (test.noop) is pending now." in run(verbosity=2)


def test_verbosity_zero_says_nothing(jobs):
    stale_job(jobs)
    assert run(verbosity=0) == ""


def test_a_negative_age_is_refused_by_its_name(jobs):
    with pytest.raises(CommandError, match=r"--older-than: must be from 0"):
        run("--older-than=-1")


def test_the_other_name_is_the_same_command(jobs):
    stale_job(jobs)
    out = StringIO()
    call_command("jobqueue_reapstale", stdout=out)
    assert out.getvalue() == "1 stale jobs reaped: 1 now pending.\n"

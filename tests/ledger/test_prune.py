from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from django_jobqueue import once
from django_jobqueue.models import Job, JobExecution
from django_jobqueue.vendors import Now
from tests.support.rows import job_in

pytestmark = pytest.mark.django_db

DAY = 86400


@pytest.fixture
def executions(gateway, left_open):
    """One of each state, begun 100 days ago, and one that completed just now."""
    once("completed", gateway)
    with pytest.raises(ConnectionError):
        once("failed", gateway.refuse)
    left_open("in doubt")
    left_open("running", seconds=20)
    JobExecution.objects.update(created_at=Now(-100 * DAY))
    JobExecution.objects.filter(pk="completed").update(completed_at=Now(-95 * DAY))
    once("new", gateway)


def keys():
    return set(JobExecution.objects.values_list("pk", flat=True))


def run(*arguments, **options):
    out = StringIO()
    call_command("pruneexecutions", *arguments, stdout=out, **options)
    return out.getvalue()


def test_what_ended_more_than_ninety_days_ago_is_deleted_and_nothing_else(executions):
    assert run() == "2 executions were deleted.\n"
    assert keys() == {"in doubt", "running", "new"}


def test_the_age_counts_from_the_end(executions):
    assert JobExecution.objects.prune(older_than=96 * DAY) == 1
    assert "completed" in keys()


def test_it_works_in_batches(executions, gateway):
    for number in range(5):
        once(f"key {number}", gateway)
    assert JobExecution.objects.prune(older_than=0, batch_size=2) == 8
    assert keys() == {"in doubt", "running"}


@pytest.mark.parametrize("status", ["scheduled", "pending", "running", "failed", "cancelled"])
def test_what_a_job_may_still_ask_for_stays(executions, status):
    job = job_in(status)
    Job.objects.filter(pk=job.pk).update(created_at=Now(-101 * DAY))
    assert run() == "0 executions were deleted.\n"
    Job.objects.filter(pk=job.pk).update(created_at=Now(-99 * DAY))
    assert run() == "2 executions were deleted.\n"


def test_a_completed_job_keeps_nothing(executions):
    job = job_in("completed")
    Job.objects.filter(pk=job.pk).update(created_at=Now(-101 * DAY))
    assert run() == "2 executions were deleted.\n"


def test_a_dry_run_deletes_nothing(executions):
    before = keys()
    assert run("--dry-run") == "2 executions would be deleted.\n"
    assert keys() == before


def test_json_is_one_object(executions):
    assert json.loads(run("--json")) == {"dry_run": False, "pruned": 2, "kept": 0}


def test_verbosity_zero_says_nothing(executions):
    assert run(verbosity=0) == ""


@pytest.mark.parametrize("option", ["--older-than=-1", "--older-than=nan", "--batch-size=0"])
def test_a_bad_option_is_refused_by_name(option):
    with pytest.raises(CommandError, match=option.partition("=")[0]):
        run(option)

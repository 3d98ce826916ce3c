"""Tasks in the admin, and what is left of them after pruning."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_jobqueue.models import Job
from django_jobqueue.vendors import Now
from tests.tasks_backend import tasks
from tests.tasks_backend.framework import TaskResultDoesNotExist

pytestmark = pytest.mark.django_db

LIST = "/admin/django_jobqueue/job/"


@pytest.fixture
def operator(client: Any) -> Any:
    client.force_login(get_user_model().objects.create_superuser("operator"))
    return client


def failed(result: Any) -> Any:
    job = Job.objects.claim(worker_id="worker-1")
    assert job is not None and str(job.pk) == result.id
    Job.objects.fail(job.pk, error="boom", retryable=False)
    return result


def completed(result: Any) -> Any:
    job = Job.objects.claim(worker_id="worker-1")
    assert job is not None and str(job.pk) == result.id
    Job.objects.complete(job.pk)
    return result


def queries_of(client: Any, path: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def test_the_list_costs_no_query_a_task(operator: Any):
    failed(tasks.noop.enqueue())
    few = queries_of(operator, LIST)
    for number in range(20):
        failed(tasks.echo.enqueue(number))
    assert queries_of(operator, LIST) == few


def test_the_list_names_the_task(operator: Any):
    tasks.noop.enqueue()
    assert b"tests.tasks_backend.tasks.noop" in operator.get(LIST).content


def test_the_page_of_a_task_shows_its_arguments(operator: Any):
    result = tasks.noop.enqueue("an argument", name="a name")
    page = operator.get(f"{LIST}{result.id}/change/").content.decode()
    assert "an argument" in page and "a name" in page


def test_the_page_of_a_task_that_waits_misses_no_handler(operator: Any):
    result = tasks.noop.enqueue()
    assert "no handler" not in operator.get(f"{LIST}{result.id}/change/").content.decode()


def test_pages_open_for_a_task_that_is_gone(operator: Any):
    result = tasks.noop.enqueue()
    Job.objects.filter(pk=result.id).update(type="gone.tasks.noop")
    assert operator.get(LIST).status_code == 200
    assert "no handler" in operator.get(f"{LIST}{result.id}/change/").content.decode()


def prune(*arguments: str) -> int:
    out = StringIO()
    call_command("prunejobs", *arguments, "--json", stdout=out)
    return int(json.loads(out.getvalue())["pruned"])


def test_finished_tasks_are_pruned_by_age():
    old, young = completed(tasks.noop.enqueue()), completed(tasks.noop.enqueue())
    Job.objects.filter(pk=old.id).update(finished_at=Now(-3 * 86400))
    assert prune("--older-than", "2") == 1
    young.refresh()
    with pytest.raises(TaskResultDoesNotExist):
        old.refresh()


def test_failed_tasks_can_be_kept_for_longer():
    good, bad = completed(tasks.noop.enqueue()), failed(tasks.noop.enqueue())
    assert prune("--older-than", "0", "--status", "completed") == 1
    bad.refresh()
    assert len(bad.errors) == 1
    with pytest.raises(TaskResultDoesNotExist):
        good.refresh()


def test_tasks_that_wait_or_run_are_not_pruned():
    running, waiting = tasks.noop.enqueue(), tasks.noop.enqueue()
    Job.objects.claim(worker_id="worker-1")
    assert prune("--older-than", "0") == 0
    running.refresh()
    waiting.refresh()


def test_a_dry_run_prunes_nothing():
    result = completed(tasks.noop.enqueue())
    assert prune("--older-than", "0", "--dry-run") == 1
    result.refresh()

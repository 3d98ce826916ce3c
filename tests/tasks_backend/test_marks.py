"""The mark in ``meta`` that makes a job a task: nobody outside can set it, and foreign JSON there harms nothing."""

from __future__ import annotations

from typing import Any

import pytest

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.models import Job
from tests.support.workers import drain
from tests.tasks_backend import tasks
from tests.tasks_backend.framework import TaskResultDoesNotExist, default_task_backend

pytestmark = pytest.mark.django_db(transaction=True)

MARK = {"_task": {"backend": "default"}}

NO_TASK: list[Any] = [
    {"_task": "a tag"},
    {"_task": []},
    {"_task": 7},
    {"_task": None},
    {"_task": {}},
    {"_task": {"backend": ["default"]}},
    {"task": {"backend": "default"}},
    [],
    "text",
]

DAMAGED: list[dict[str, Any]] = [
    {"backend": "gone"},
    {"backend": "default", "run_after": "tomorrow"},
    {"backend": "default", "run_after": 12},
    {"backend": "default", "using": ["timeout"]},
    {"backend": "default", "using": {"timeout": "long", "atomic": 3, "max_retries": -1}},
    {"backend": "default", "using": {"backoff": {"kind": "unheard of"}}},
    {"backend": "default", "using": {"backoff": 12, "func": None, "queue_name": 5}},
    {"backend": "default", "unheard": "of"},
]


def with_meta(meta: Any) -> Job:
    """A job as another program or an older version may have written it."""
    job = Job.objects.enqueue(tasks.noop.module_path, {"args": [], "kwargs": {}}, max_retries=0)
    Job.objects.filter(pk=job.pk).update(meta=meta)
    return job


@pytest.mark.parametrize("add", ["one", "many"])
def test_the_mark_cannot_be_set_from_outside(add: str):
    with pytest.raises(InvalidJob, match=r"_task.*reserved"):
        if add == "one":
            Job.objects.enqueue("test.noop", meta=MARK)
        else:
            Job.objects.enqueue_many([{"type": "test.noop", "meta": MARK}])


def test_an_entry_of_ones_own_by_the_name_of_task_makes_no_task():
    job = Job.objects.enqueue("test.noop", meta={"task": "import"})
    assert drain() == {"completed": 1}
    with pytest.raises(TaskResultDoesNotExist):
        default_task_backend.get_result(str(job.pk))


@pytest.mark.parametrize("meta", NO_TASK, ids=repr)
def test_foreign_json_makes_no_task(meta: Any):
    job = with_meta(meta)
    with pytest.raises(TaskResultDoesNotExist):
        default_task_backend.get_result(str(job.pk))
    beside = tasks.noop.enqueue()
    assert drain()["completed"] == 1
    beside.refresh()
    assert beside.is_finished
    assert Job.objects.get(pk=job.pk).status in ("scheduled", "pending")  # given back: nobody knows its type


@pytest.mark.parametrize("notes", DAMAGED, ids=repr)
def test_a_damaged_mark_leaves_the_result_readable_and_the_task_running(notes: dict[str, Any]):
    job = with_meta({"_task": notes})
    assert default_task_backend.get_result(str(job.pk)).task.func is tasks.noop.func
    assert drain() == {"completed": 1}
    assert default_task_backend.get_result(str(job.pk)).is_finished


@pytest.mark.parametrize("payload", [[], "text", 5, {"args": 5}, {"kwargs": []}], ids=repr)
def test_a_payload_that_is_no_call_fails_its_job_alone(payload: Any):
    job = with_meta(MARK)
    Job.objects.filter(pk=job.pk).update(payload=payload)
    tasks.noop.enqueue()
    default_task_backend.get_result(str(job.pk))
    assert drain() == {"failed": 1, "completed": 1}
    default_task_backend.get_result(str(job.pk))

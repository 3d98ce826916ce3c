from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync

from django_jobqueue.models import Job
from django_jobqueue.tasks import enqueue_many
from tests.tasks_backend import tasks
from tests.tasks_backend.framework import default_task_backend

pytestmark = pytest.mark.django_db

DEEP: list[Any] = []
for _ in range(40):
    DEEP = [DEEP]

REFUSED = {
    "a NaN": (float("nan"), "nan is not JSON"),
    "an infinity": (float("inf"), "inf is not JSON"),
    "a set": ({1}, "set is not JSON"),
    "bytes": (b"x", "bytes is not JSON"),
    "a datetime": (datetime(2026, 1, 1, tzinfo=UTC), "datetime is not JSON"),
    "a decimal": (Decimal("1.1"), "Decimal is not JSON"),
    "a UUID": (UUID(int=1), "UUID is not JSON"),
    "an object": (object(), "object is not JSON"),
    "a model": (Job(), "Job is not JSON"),
    "a NUL": ("a\0b", "must not contain the NUL character"),
    "a surrogate": ("\ud800", "must not contain lone surrogates"),
    "a large integer": (2**63, "is an integer past 64 bits"),
    "a key that is no text": ({1: 2}, "has a key that is int"),
    "a NUL in a key": ({"a\0": 2}, "must not contain the NUL character"),
    "a deep list": (DEEP, "is nested deeper than"),
}


@pytest.mark.parametrize("value, problem", REFUSED.values(), ids=REFUSED)
def test_what_is_not_json_is_refused_by_the_path_of_the_argument(value: Any, problem: str):
    with pytest.raises(ValueError, match=problem) as raised:
        tasks.noop.enqueue(1, {"lines": [value]})
    assert str(raised.value).startswith("args[1].lines[0]")
    assert not Job.objects.exists()


def test_a_named_argument_is_named():
    with pytest.raises(ValueError, match=r"^kwargs\.order\.lines\[1\]: set is not JSON\.$"):
        tasks.noop.enqueue(order={"lines": [1, set()]})


def test_the_error_is_a_type_error_as_the_framework_raises_it():
    with pytest.raises(TypeError, match=r"args\[0\]: "):
        tasks.noop.enqueue(datetime.now(UTC))
    with pytest.raises(TypeError, match=r"args\[0\]: "):
        async_to_sync(tasks.noop.aenqueue)(datetime.now(UTC))


def test_too_large_arguments_are_refused():
    with pytest.raises(ValueError, match=r"^args and kwargs: has \d+ bytes; at most 65536 are allowed\.$"):
        tasks.noop.enqueue("x" * 70_000)


def test_the_call_of_many_is_named():
    with pytest.raises(TypeError, match=r"^calls\[1\]\.args\[0\]: set is not JSON\.$"):
        enqueue_many(tasks.noop, [(1,), ({1},)])
    assert not Job.objects.exists()


def test_a_keyword_that_is_no_text_is_refused():
    with pytest.raises(ValueError, match="kwargs: has a key that is int"):
        default_task_backend.enqueue(tasks.noop, [], {1: 2})


def test_a_result_has_the_arguments_as_json():
    result = tasks.noop.enqueue((1, (2,)), nested={"t": (3,)})
    assert (result.args, result.kwargs) == ([[1, [2]]], {"nested": {"t": [3]}})


@pytest.mark.django_db(transaction=True)
def test_a_task_gets_the_arguments_as_json(run: Any):
    args = [None, True, 0, -1.5, 1e16, "", "ü😀\n", [1, [2]], {"a": {"b": []}}]
    result = run(tasks.echo.enqueue(*args, (1, 2), name={"key": (3,)}))
    assert result.return_value == {"args": [*args, [1, 2]], "kwargs": {"name": {"key": [3]}}}


@pytest.mark.django_db(transaction=True)
def test_arguments_of_any_name_reach_the_task(run: Any):
    names = dict.fromkeys(("job", "task", "args", "kwargs", "payload", "timeout"), 1)
    result = run(tasks.echo.enqueue(**names))
    assert result.return_value == {"args": [], "kwargs": names}


def test_many_are_one_insert(django_assert_max_num_queries: Any):
    with django_assert_max_num_queries(4) as queries:  # with the two of the transaction and one to read back
        results = enqueue_many(tasks.noop, [(1,), [2], {"three": 3}])
    assert sum("INSERT" in query["sql"] for query in queries.captured_queries) == 1
    assert [(result.args, result.kwargs) for result in results] == [([1], {}), ([2], {}), ([], {"three": 3})]
    assert [result.id for result in results] == [str(job.pk) for job in Job.objects.order_by("pk")]


def test_none_at_all_are_no_jobs():
    assert enqueue_many(tasks.noop, []) == []


@pytest.mark.parametrize("call", [1, "text", None, b"x"])
def test_a_call_that_is_neither_list_nor_mapping_is_refused(call: Any):
    with pytest.raises(TypeError, match=r"^calls\[1\]: \w+ is neither a sequence"):
        enqueue_many(tasks.noop, [(), call])
    assert not Job.objects.exists()


def test_many_on_another_backend_are_enqueued_one_by_one(settings: Any):
    package = (
        "django.tasks" if type(tasks.noop).__mro__[1].__module__ == "django.tasks.base" else "django_tasks"
    )
    settings.TASKS = {"default": {"BACKEND": f"{package}.backends.immediate.ImmediateBackend"}}
    results = enqueue_many(tasks.echo, [(1,), {"two": 2}])
    assert [result.return_value for result in results] == [
        {"args": [1], "kwargs": {}},
        {"args": [], "kwargs": {"two": 2}},
    ]
    assert not Job.objects.exists()

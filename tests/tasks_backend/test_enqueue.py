from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction

from django_jobqueue.backend import JobQueueBackend
from django_jobqueue.models import Job
from django_jobqueue.vendors import Now
from tests.support.rows import IN_AN_HOUR
from tests.tasks_backend import tasks
from tests.tasks_backend.framework import (
    READY,
    InvalidTask,
    InvalidTaskBackend,
    Task,
    default_task_backend,
    task_backends,
)

pytestmark = pytest.mark.django_db


def test_the_backend_is_the_one_of_the_settings():
    assert default_task_backend == task_backends["default"]
    assert type(task_backends["default"]) is JobQueueBackend


@pytest.mark.parametrize(
    "ability", ["supports_defer", "supports_async_task", "supports_get_result", "supports_priority"]
)
def test_it_can_do_all_that_the_framework_knows(ability: str):
    assert getattr(default_task_backend, ability) is True


def test_a_task_is_a_job():
    result = tasks.noop.enqueue(1, two=3)
    job = Job.objects.get()
    assert (job.type, job.payload) == ("tests.tasks_backend.tasks.noop", {"args": [1], "kwargs": {"two": 3}})
    assert (str(job.pk), job.queue, job.priority, job.status) == (result.id, "default", 0, "pending")


@pytest.mark.parametrize("task", [tasks.noop, tasks.noop_async])
def test_a_new_result_is_ready_and_has_not_run(task: Any):
    result = task.enqueue(1, two=3)
    assert (result.status, result.is_finished, result.attempts) == (READY, False, 0)
    assert (result.started_at, result.last_attempted_at, result.finished_at) == (None, None, None)
    assert (result.task, result.args, result.kwargs) == (task, [1], {"two": 3})
    assert (result.backend, result.errors, result.worker_ids) == ("default", [], [])
    assert result.enqueued_at == Job.objects.get().created_at


def test_a_new_result_has_no_value():
    result = tasks.noop.enqueue()
    with pytest.raises(ValueError, match="Task has not finished yet"):
        _ = result.return_value


def test_enqueue_is_one_query(django_assert_num_queries: Any):
    with django_assert_num_queries(1):
        tasks.noop.enqueue(1, two=3)


def test_enqueue_by_the_backend_itself():
    result = default_task_backend.enqueue(tasks.noop, (1,), {"two": 3})
    assert (result.args, result.kwargs) == ([1], {"two": 3})


@pytest.mark.parametrize("task", [tasks.noop, tasks.noop_async])
def test_enqueue_from_async_code(task: Any):
    result = async_to_sync(task.aenqueue)(1, two=3)
    assert (result.id, result.status) == (str(Job.objects.get().pk), READY)
    assert (result.task, result.args, result.kwargs) == (task, [1], {"two": 3})


@pytest.mark.parametrize("priority", [-100, 0, 7, 100])
def test_priorities_are_stored_as_they_are(priority: int):
    tasks.noop.using(priority=priority).enqueue()
    assert Job.objects.get().priority == priority


@pytest.mark.parametrize("priority", [-101, 101, 3.1])
def test_other_priorities_are_refused(priority: Any):
    with pytest.raises(InvalidTask, match="priority must be a whole number"):
        tasks.noop.using(priority=priority)


def test_a_whole_number_that_is_a_float_is_a_priority():
    tasks.noop.using(priority=3.0).enqueue()
    assert Job.objects.get().priority == 3


def test_the_decorators_queue_and_priority():
    result = tasks.send_mail.enqueue()
    job = Job.objects.get()
    assert (job.queue, job.priority, result.task.queue_name) == ("mail", 10, "mail")


def test_run_after_makes_a_scheduled_job():
    when = datetime.now(UTC) + IN_AN_HOUR
    result = tasks.noop.using(run_after=when).enqueue()
    job = Job.objects.get()
    assert (job.status, job.run_at, result.task.run_after, result.status) == ("scheduled", when, when, READY)


def test_run_after_in_the_past_is_now():
    tasks.noop.using(run_after=datetime.now(UTC) - IN_AN_HOUR).enqueue()
    assert Job.objects.get().status == "pending"


def test_a_naive_run_after_is_refused():
    with pytest.raises(InvalidTask, match="run_after must be an aware datetime"):
        tasks.noop.using(run_after=datetime.now())


@pytest.mark.parametrize("year", [1969, 2200])
def test_a_run_after_that_cannot_be_stored_is_refused(year: int):
    with pytest.raises(InvalidTask, match="run_after: must be from the year 1970 to the year 2199"):
        tasks.noop.using(run_after=datetime(year, 6, 1, tzinfo=UTC))


def test_an_unknown_queue_is_refused():
    with pytest.raises(InvalidTask, match="Queue 'other' is not valid for backend"):
        tasks.noop.using(queue_name="other")


def test_a_backend_without_queues_takes_every_queue():
    tasks.noop.using(backend="any", queue_name="other").enqueue()
    assert Job.objects.get().queue == "other"


@pytest.mark.parametrize("queue", ["q" * 65, "  ", "a\0b"])
def test_a_queue_name_that_cannot_be_stored_is_refused(queue: str):
    with pytest.raises(InvalidTask, match="queue_name: "):
        tasks.noop.using(backend="any", queue_name=queue)


def test_an_unknown_backend_is_refused():
    with pytest.raises(InvalidTaskBackend, match="'unknown' doesn't exist"):
        tasks.noop.using(backend="unknown")


def test_a_task_is_validated_when_it_is_enqueued(settings: Any):
    task = tasks.noop.using(queue_name="mail")
    settings.TASKS = {
        "default": {"BACKEND": "django_jobqueue.backend.JobQueueBackend", "QUEUES": ["default"]}
    }
    with pytest.raises(InvalidTask, match="Queue 'mail' is not valid for backend"):
        task.enqueue()


def test_a_task_is_validated_when_async_code_enqueues_it(settings: Any):
    task = tasks.noop.using(queue_name="mail")
    settings.TASKS = {
        "default": {"BACKEND": "django_jobqueue.backend.JobQueueBackend", "QUEUES": ["default"]}
    }
    with pytest.raises(InvalidTask, match="Queue 'mail' is not valid for backend"):
        async_to_sync(task.aenqueue)()


def test_using_makes_a_new_task():
    later = datetime.now(UTC) + timedelta(days=1)
    task = tasks.noop.using(run_after=later).using(priority=10)
    assert (task.run_after, task.priority) == (later, 10)
    assert (tasks.noop.run_after, tasks.noop.priority) == (None, 0)
    assert tasks.noop.using() == tasks.noop


def test_a_task_under_another_name_than_its_functions_is_refused_before_it_is_enqueued():
    with pytest.raises(InvalidTask, match="not_a_task does not lead to this task"):
        tasks.undecorated.enqueue()
    assert not Job.objects.exists()


def test_a_task_of_a_script_is_refused(monkeypatch: pytest.MonkeyPatch):
    import sys

    monkeypatch.setattr(tasks.noop.func, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "noop", tasks.noop, raising=False)
    with pytest.raises(InvalidTask, match="in a module that a worker can import"):
        tasks.noop.enqueue()


def test_a_task_can_be_called():
    assert tasks.meaning_of_life.call() == 42
    assert async_to_sync(tasks.meaning_of_life.acall)() == 42
    assert tasks.meaning_of_life_async.call() == 42
    assert async_to_sync(tasks.meaning_of_life_async.acall)() == 42


def test_tasks_are_the_frameworks():
    assert isinstance(tasks.noop, Task)
    assert isinstance(tasks.fail, Task)


@pytest.mark.django_db(transaction=True)
def test_a_task_of_a_transaction_waits_for_its_commit():
    with transaction.atomic():
        result = tasks.noop.enqueue()
        assert Job.objects.filter(pk=result.id).exists()
        assert seen_by_others() == 0
    assert seen_by_others() == 1


@pytest.mark.django_db(transaction=True)
def test_a_task_of_a_transaction_that_is_rolled_back_is_gone():
    with transaction.atomic():
        tasks.noop.enqueue()
        transaction.set_rollback(True)
    assert not Job.objects.exists()


def seen_by_others() -> int:
    """How many jobs another connection sees."""
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    def count() -> int:
        try:
            return Job.objects.filter(created_at__lte=Now(60)).count()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        return other.submit(count).result()

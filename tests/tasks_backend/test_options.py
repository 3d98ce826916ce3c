from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from django_jobqueue import constant, exponential
from django_jobqueue.exceptions import IdempotencyMismatch
from django_jobqueue.models import Job
from django_jobqueue.tasks import JobTask, enqueue_many
from django_jobqueue.tasks import task as job_task
from tests.support.models import Effect
from tests.tasks_backend import tasks
from tests.tasks_backend.framework import FAILED, SUCCESSFUL, InvalidTask, default_task_backend, task

pytestmark = pytest.mark.django_db


def plain() -> None:
    """A function at the level of a module."""


async def plain_async() -> None:
    """The same, async."""


def test_both_decorators_make_the_same_kind_of_task():
    assert type(task(plain)) is type(job_task(plain)) is type(job_task(max_retries=1)(plain)) is JobTask


def test_the_decorator_keeps_what_the_frameworks_takes():
    made = job_task(priority=5, queue_name="mail", backend="default", takes_context=False)(plain)
    assert (made.priority, made.queue_name, made.backend, made.run_after) == (5, "mail", "default", None)
    assert (made.name, made.module_path, made.func) == ("plain", f"{__name__}.plain", plain)


def test_a_task_that_takes_the_context_needs_a_parameter_for_it():
    with pytest.raises(InvalidTask, match="does not have a first argument of 'context'"):
        job_task(takes_context=True)(plain)


def test_a_function_inside_a_function_is_refused():
    def inner() -> None: ...

    with pytest.raises(InvalidTask, match="must be defined at a module level"):
        job_task(inner)


def test_run_after_is_not_for_the_decorator():
    with pytest.raises(TypeError, match="run_after"):
        job_task(run_after=None)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "options, problem",
    [
        ({"max_retries": -1}, "max_retries: must be from 0 to 1000"),
        ({"max_retries": 1.5}, "max_retries: must be an integer"),
        ({"timeout": 0}, "timeout: must be from 0.001"),
        ({"timeout": "60"}, "timeout: must be a number of seconds"),
        ({"timeout": float("inf")}, "timeout: must be from 0.001"),
        ({"backoff": lambda retry: 1.0}, "backoff: "),
        ({"backoff": "no.such.path"}, "backoff: No module named 'no'"),
        ({"backoff": 5}, "backoff: "),
        ({"atomic": 1}, "atomic: must be True or False"),
        ({"idempotency_key": ""}, "idempotency_key: must not be blank"),
        ({"idempotency_key": 5}, "idempotency_key: must be a text"),
        ({"idempotency_key": "k" * 256}, "idempotency_key: has 256 characters"),
    ],
)
def test_an_option_that_no_job_can_have_is_refused_by_name(options: dict[str, Any], problem: str):
    with pytest.raises(InvalidTask, match=problem):
        job_task(**options)(plain)
    with pytest.raises(InvalidTask, match=problem):
        tasks.noop.using(**options)


def test_an_async_task_cannot_be_atomic():
    with pytest.raises(InvalidTask, match="atomic: an async task cannot be"):
        job_task(atomic=True)(plain_async)


def test_a_path_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plain, "__module__", "m" * 200)
    with pytest.raises(InvalidTask, match="the path of the task: has 206 characters; at most 200"):
        job_task(plain)


def test_retries_and_backoff_are_the_jobs():
    tasks.noop.using(max_retries=7, backoff=exponential(base=3)).enqueue()
    job = Job.objects.get()
    assert (job.max_retries, job.meta["_backoff"]["kind"], job.meta["_backoff"]["base"]) == (
        7,
        "exponential",
        3,
    )


def test_without_a_choice_the_projects_retries_hold():
    tasks.noop.enqueue()
    assert Job.objects.get().max_retries == 3


def test_options_of_the_backend_hold_where_the_task_says_nothing():
    tasks.noop.using(backend="once").enqueue()
    assert Job.objects.get().max_retries == 0
    tasks.noop.using(backend="once", max_retries=2).enqueue()
    assert Job.objects.latest("pk").max_retries == 2


def test_using_keeps_what_it_does_not_change():
    chosen = tasks.fail.using(timeout=timedelta(minutes=1)).using(priority=3)
    assert (chosen.timeout, chosen.max_retries, chosen.priority) == (timedelta(minutes=1), 0, 3)
    assert tasks.fail.timeout is None


def test_an_unknown_choice_is_refused():
    with pytest.raises(TypeError, match="colour"):
        tasks.noop.using(colour="red")


def test_a_key_from_the_arguments_makes_one_job():
    first, second, other = tasks.charge.enqueue(1), tasks.charge.enqueue(order=1), tasks.charge.enqueue(2)
    assert first.id == second.id != other.id
    assert [job.idempotency_key for job in Job.objects.order_by("pk")] == ["order-1", "order-2"]


def test_a_key_given_for_a_call():
    first = tasks.noop.using(idempotency_key="once").enqueue()
    assert tasks.noop.using(idempotency_key="once").enqueue() == first


def test_a_key_function_may_give_no_key():
    assert tasks.charge_maybe.enqueue(None).id != tasks.charge_maybe.enqueue(None).id
    assert tasks.charge_maybe.enqueue(1).id == tasks.charge_maybe.enqueue(1).id


@pytest.mark.parametrize("key, problem", [(5, "must be a text"), ("", "must not be blank"), ("\0", "NUL")])
def test_a_key_function_must_give_a_key_that_can_be_stored(key: Any, problem: str):
    with pytest.raises(ValueError, match=f"^idempotency_key: .*{problem}"):
        tasks.noop.using(idempotency_key=lambda: key).enqueue()


def test_a_taken_key_gives_the_result_as_it_is_now():
    first = tasks.charge.enqueue(1)
    job = Job.objects.claim(worker_id="worker-1")
    assert job is not None
    Job.objects.complete(job.pk, result=42)
    again = tasks.charge.enqueue(1)
    assert (again.id, again.status, again.return_value) == (first.id, SUCCESSFUL, 42)


def test_a_key_that_another_kind_of_job_has_is_refused():
    Job.objects.enqueue("test.noop", idempotency_key="order-1")
    with pytest.raises(IdempotencyMismatch):
        tasks.charge.enqueue(1)


def test_a_key_with_other_arguments_is_refused_where_the_project_says_so(settings: Any):
    settings.JOBQUEUE = {"IDEMPOTENCY_MISMATCH": "reject"}
    tasks.charge.enqueue(1, amount=1)
    with pytest.raises(IdempotencyMismatch, match="different payload"):
        tasks.charge.enqueue(1, amount=2)


def test_many_with_keys_are_one_job_a_key():
    results = enqueue_many(tasks.charge, [(1,), (2,), {"order": 1, "amount": 1}])
    assert results[0].id == results[2].id
    assert Job.objects.count() == 2


def test_many_are_added_all_or_none(settings: Any):
    settings.JOBQUEUE = {"IDEMPOTENCY_MISMATCH": "reject"}
    tasks.charge.enqueue(1, amount=1)
    with pytest.raises(IdempotencyMismatch):
        enqueue_many(tasks.charge, [(2,), {"order": 1, "amount": 2}])
    assert Job.objects.count() == 1


def test_a_call_of_many_with_a_bad_key_is_named():
    with pytest.raises(ValueError, match=r"^calls\[1\]\.idempotency_key: must be a text"):
        enqueue_many(tasks.noop.using(idempotency_key=lambda n: n), [("a",), (5,)])


def test_a_taken_key_is_not_told_as_enqueued(heard: Any):
    tasks.charge.enqueue(1)
    tasks.charge.enqueue(1)
    assert [name for name, *_ in heard.all] == ["enqueued"]


@pytest.mark.django_db(transaction=True)
def test_an_atomic_task_and_its_completion_are_one_transaction(run: Any):
    kept = run(tasks.effect.using(atomic=True).enqueue("kept"))
    assert (kept.status, kept.return_value) == (SUCCESSFUL, "kept")
    assert Effect.objects.filter(name="kept").count() == 1


@pytest.mark.django_db(transaction=True)
def test_what_an_atomic_task_wrote_is_gone_when_it_fails(run: Any, heard: Any):
    result = run(tasks.give.using(atomic=True).enqueue("set"))
    assert (result.status, Effect.objects.count()) == (FAILED, 0)
    assert heard.of(result)[-1] == ("finished", "FAILED")


@pytest.mark.django_db(transaction=True)
def test_receivers_are_outside_of_an_atomic_tasks_transaction(run: Any):
    from django.db import connection

    from tests.tasks_backend.framework import task_finished, task_started

    inside: list[bool] = []

    def receiver(**_: Any) -> None:
        inside.append(connection.in_atomic_block)

    task_started.connect(receiver)
    task_finished.connect(receiver)
    run(tasks.effect.using(atomic=True).enqueue())
    assert inside == [False, False]


def test_the_key_of_a_result_is_found_again():
    result = tasks.charge.enqueue(1)
    assert default_task_backend.get_result(result.id) == result


def test_a_backoff_of_the_module_is_kept_by_its_path():
    tasks.noop.using(backoff=tasks.ten_minutes).enqueue()
    assert Job.objects.get().meta["_backoff"] == "tests.tasks_backend.tasks.ten_minutes"
    assert constant(5) == constant(5)

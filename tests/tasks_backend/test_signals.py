from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from django_jobqueue.backend import JobQueueBackend
from django_jobqueue.models import Job
from django_jobqueue.tasks import enqueue_many
from tests.support.processes import wait_until
from tests.support.workers import worker
from tests.tasks_backend import tasks
from tests.tasks_backend.backends import OnceBackend
from tests.tasks_backend.conftest import Heard
from tests.tasks_backend.framework import (
    FAILED,
    LOGGER,
    READY,
    SUCCESSFUL,
    TaskResult,
    task_enqueued,
    task_finished,
    task_started,
)

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def listening(signal: Any, receiver: Any) -> Iterator[None]:
    signal.connect(receiver)
    try:
        yield
    finally:
        signal.disconnect(receiver)


@pytest.mark.parametrize("task", [tasks.noop, tasks.noop_async], ids=["sync", "async"])
def test_the_signals_of_a_task_that_succeeds(task: Any, heard: Heard, run: Any):
    result = run(task.enqueue())
    assert heard.all == [
        ("enqueued", JobQueueBackend, result.id, "READY"),
        ("started", JobQueueBackend, result.id, "RUNNING"),
        ("finished", JobQueueBackend, result.id, "SUCCESSFUL"),
    ]


@pytest.mark.parametrize("task", [tasks.fail, tasks.fail_async], ids=["sync", "async"])
def test_the_signals_of_a_task_that_fails(task: Any, heard: Heard, run: Any):
    result = run(task.enqueue())
    assert heard.of(result) == [("enqueued", "READY"), ("started", "RUNNING"), ("finished", "FAILED")]


def test_an_attempt_that_is_retried_finishes_as_ready(heard: Heard, run: Any):
    result = run(tasks.succeed_at.enqueue(2))
    assert heard.of(result) == [
        ("enqueued", "READY"),
        ("started", "RUNNING"),
        ("finished", "READY"),
        ("started", "RUNNING"),
        ("finished", "SUCCESSFUL"),
    ]


@pytest.mark.parametrize(
    "how, status", [("permanent", "FAILED"), ("later", "READY"), ("snooze", "READY"), ("cancelled", "FAILED")]
)
def test_the_end_that_a_task_chose_is_told(how: str, status: str, heard: Heard, run: Any):
    result = run(tasks.choose_end.enqueue(how))
    assert heard.of(result)[-1] == ("finished", status)


@pytest.mark.parametrize("task", [tasks.too_long, tasks.too_long_async], ids=["sync", "async"])
def test_a_timeout_is_told_as_failed(task: Any, heard: Heard, run: Any):
    result = run(task.enqueue())
    assert heard.of(result)[-1] == ("finished", "FAILED")


def test_a_task_that_times_out_while_its_start_is_told_is_told_as_failed(heard: Heard, run: Any):
    def slow(**_: Any) -> None:
        time.sleep(2 * 0.2)  # twice the timeout

    task_started.connect(slow)
    try:
        result = run(tasks.too_long_async.enqueue())
    finally:
        task_started.disconnect(slow)
    assert heard.of(result) == [("enqueued", "READY"), ("started", "RUNNING"), ("finished", "FAILED")]


@pytest.mark.parametrize("task", [tasks.too_long, tasks.too_long_async], ids=["sync", "async"])
def test_a_task_that_its_worker_gives_back_is_told_as_ready(task: Any, heard: Heard):
    result = task.using(timeout=60).enqueue()
    busy = worker()
    thread = threading.Thread(target=busy.run)
    thread.start()
    wait_until(lambda: len(heard.all) == 2)
    busy.shutdown.request()
    busy.shutdown.request()
    thread.join(20)
    result.refresh()
    assert heard.of(result)[-1] == ("finished", "READY")
    assert (heard.results[-1].attempts, result.attempts, result.status) == (0, 0, READY)


def test_a_result_that_is_not_json_is_told_as_failed(heard: Heard, run: Any):
    result = run(tasks.give.enqueue("nan"))
    assert heard.of(result)[-1] == ("finished", "FAILED")


def test_the_sender_is_the_class_of_the_tasks_backend(heard: Heard, run: Any):
    run(tasks.noop.using(backend="once").enqueue())
    assert {sender for _, sender, _, _ in heard.all} == {OnceBackend}


def test_what_a_signal_tells_of_the_end_is_what_the_row_says(heard: Heard, run: Any):
    result = run(tasks.echo.enqueue((1,)))
    told = heard.results[-1]
    assert isinstance(told, TaskResult)
    for name in ("task", "id", "status", "enqueued_at", "args", "kwargs", "backend", "errors", "worker_ids"):
        assert getattr(told, name) == getattr(result, name), name
    assert told.return_value == result.return_value == {"args": [[1]], "kwargs": {}}
    assert told.finished_at >= told.started_at


def test_what_a_signal_tells_of_a_failure_is_what_the_row_says(heard: Heard, run: Any):
    result = run(tasks.fail_always.enqueue())
    told = heard.results[-1]
    assert (told.status, told.worker_ids) == (FAILED, result.worker_ids)
    assert [error.exception_class for error in told.errors] == [ValueError] * 3
    assert all(error.traceback.endswith("ValueError: again and again\n") for error in told.errors)


def test_enqueue_many_tells_of_each(heard: Heard):
    results = enqueue_many(tasks.noop, [(1,), (2,)])
    assert [id for _, _, id, _ in heard.all] == [result.id for result in results]


def test_async_code_enqueues_with_a_signal(heard: Heard):
    result = async_to_sync(tasks.noop.aenqueue)()
    assert heard.of(result) == [("enqueued", "READY")]


@pytest.mark.parametrize("task", [tasks.meaning_of_life, tasks.meaning_of_life_async], ids=["sync", "async"])
@pytest.mark.parametrize(
    "signal", [task_enqueued, task_started, task_finished], ids=["enqueued", "started", "finished"]
)
def test_a_receiver_that_raises_harms_no_task(
    task: Any, signal: Any, run: Any, caplog: pytest.LogCaptureFixture
):
    def receiver(**_: Any) -> None:
        raise RuntimeError("a receiver's fault")

    with listening(signal, receiver):
        result = run(task.enqueue())
    assert (result.status, result.attempts, result.return_value) == (SUCCESSFUL, 1, 42)
    assert "a receiver's fault" in caplog.text


@pytest.mark.parametrize("task", [tasks.fail, tasks.fail_async], ids=["sync", "async"])
def test_receivers_see_the_exception_of_a_task_that_failed(task: Any, run: Any):
    seen: list[Any] = []

    def receiver(**_: Any) -> None:
        seen.append(sys.exc_info()[1])

    with listening(task_finished, receiver):
        run(task.enqueue("for the trackers"))
    assert [repr(error) for error in seen] == ["ValueError('for the trackers')"]


def test_receivers_see_no_exception_of_a_task_that_succeeded(run: Any):
    seen: list[Any] = []

    def receiver(**_: Any) -> None:
        seen.append(sys.exc_info()[1])

    with listening(task_finished, receiver):
        run(tasks.noop.enqueue())
    assert seen == [None]


def test_an_async_receiver_is_awaited(run: Any):
    seen: list[str] = []

    async def receiver(task_result: Any, **_: Any) -> None:
        seen.append(str(task_result.status))

    with listening(task_finished, receiver):
        run(tasks.noop.enqueue(), tasks.noop_async.enqueue())
    assert seen == ["SUCCESSFUL", "SUCCESSFUL"]


def test_a_receiver_may_use_the_database_of_an_async_task(run: Any):
    seen: list[str] = []

    def receiver(task_result: Any, **_: Any) -> None:
        seen.append(Job.objects.get(pk=task_result.id).type)

    with listening(task_started, receiver):
        run(tasks.noop_async.enqueue())
    assert seen == ["tests.tasks_backend.tasks.noop_async"]


def test_the_frameworks_log_has_the_whole_life_of_a_task(run: Any, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG, logger=LOGGER):
        result = run(tasks.noop.enqueue())
    lines = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert [result.id in line for line in lines] == [True, True, True]
    assert [
        word in line for word, line in zip(("enqueued", "RUNNING", "SUCCESSFUL"), lines, strict=True)
    ] == [True] * 3


def test_the_frameworks_log_of_a_failure_has_the_traceback(run: Any, caplog: pytest.LogCaptureFixture):
    run(tasks.fail.enqueue("in the log"))
    [record] = [
        record for record in caplog.records if record.name == LOGGER and record.levelno == logging.ERROR
    ]
    assert "FAILED" in record.getMessage()
    assert record.exc_info is not None and repr(record.exc_info[1]) == "ValueError('in the log')"

"""A log handler (an error tracker's, say) sees the exceptions of handlers."""

from __future__ import annotations

import logging
import threading
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest

from django_jobqueue import PermanentFailure, job_handler, registry
from django_jobqueue.models import Job
from django_jobqueue.workers.acks import Acks
from django_jobqueue.workers.execute import outcome_of
from django_jobqueue.workers.isolation.messages import dump_outcome, load_outcome
from tests.support.rows import claimed
from tests.support.workers import drain

pytestmark = pytest.mark.django_db(transaction=True)


def records(caplog, type: str) -> list[logging.LogRecord]:
    return [record for record in caplog.records if f"({type})" in record.getMessage()]


@pytest.fixture
def register():
    def fail(job, **payload):
        raise ValueError("no paper")

    async def fail_async(job, **payload):
        raise ValueError("no paper")

    def give_up(job):
        try:
            raise ValueError("no paper")
        except ValueError as error:
            raise PermanentFailure("closed") from error

    job_handler("track.fail")(fail)
    job_handler("track.async")(fail_async)
    job_handler("track.atomic", atomic=True)(fail)
    job_handler("track.permanent")(give_up)
    job_handler("track.sensitive", sensitive=["card"])(fail)
    yield
    for name in ("fail", "async", "atomic", "permanent", "sensitive"):
        registry.unregister(f"track.{name}")


@pytest.mark.parametrize("type", ["track.fail", "track.async", "track.atomic"])
def test_a_failed_attempt_is_logged_with_its_exception_a_retry_as_a_warning_the_last_as_an_error(
    register, caplog, type
):
    Job.objects.enqueue(type, max_retries=1)
    drain()
    retry, final = records(caplog, type)
    assert (retry.levelno, final.levelno) == (logging.WARNING, logging.ERROR)
    for record in (retry, final):
        line = logging.Formatter().format(record)
        assert "no paper" not in line.replace('ValueError("no paper")', "")  # the source is no message
        assert line.endswith("builtins.ValueError")
        kind, error, trace = record.exc_info
        assert (kind, str(error)) == (ValueError, "no paper")
        while trace.tb_next:
            trace = trace.tb_next
        assert Path(trace.tb_frame.f_code.co_filename) == Path(__file__)


def test_a_permanent_failure_is_an_error_with_its_cause(register, caplog):
    Job.objects.enqueue("track.permanent", max_retries=5)
    drain()
    (record,) = records(caplog, "track.permanent")
    assert record.levelno == logging.ERROR
    assert isinstance(record.exc_info[1].__cause__, ValueError)


def test_a_retry_that_a_handler_asks_for_is_no_exception_to_a_tracker(caplog):
    Job.objects.enqueue("test.retry_later", {"delay": 600})
    drain()
    (record,) = records(caplog, "test.retry_later")
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)


def test_a_formatter_runs_no_code_of_the_exception_in_the_workers_own_thread(caplog):
    threads = []

    class Unreadable(Exception):
        def __str__(self):
            threads.append(threading.current_thread().name)
            raise RuntimeError

    def fail(job):
        raise Unreadable

    job_handler("track.unreadable")(fail)
    try:
        Job.objects.enqueue("track.unreadable", max_retries=0)
        assert drain(concurrency=1) == {"failed": 1}
    finally:
        registry.unregister("track.unreadable")
    (record,) = records(caplog, "track.unreadable")
    assert record.levelno == logging.ERROR
    assert "Unreadable" in logging.Formatter().format(record)
    assert set(threads) == {"jobqueue-0"}


def test_the_exception_of_a_job_with_sensitive_entries_stays_out_of_the_log(register, caplog):
    Job.objects.enqueue("track.sensitive", {"card": "4111"}, max_retries=0)
    drain()
    (record,) = records(caplog, "track.sensitive")
    assert (record.levelno, record.exc_info) == (logging.ERROR, None)


def test_a_failure_in_a_process_of_its_own_is_logged_with_its_class_message_and_traceback(caplog):
    row = claimed(max_retries=0)
    job = SimpleNamespace(id=row.pk, type="track.isolated", fencing_token=row.fencing_token)
    try:
        raise ValueError("no paper")
    except ValueError as error:
        outcome = load_outcome(dump_outcome(outcome_of(error)))
    acks = Acks(Job.objects, lambda job: None)
    acks.add(job, outcome)
    acks.flush()
    (record,) = records(caplog, "track.isolated")
    text = "".join(traceback.format_exception(record.exc_info[1]))
    assert (record.levelno, record.exc_info[0].__name__, str(record.exc_info[1])) == (
        40,
        "ValueError",
        "no paper",
    )
    assert 'raise ValueError("no paper")' in text

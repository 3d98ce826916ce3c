"""-> pending | scheduled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from django_jobqueue import constant
from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.models import Job
from tests.support.rows import IN_AN_HOUR


def test_a_job_is_pending_with_the_defaults(jobs):
    job = jobs.enqueue("test.noop", {"a": 1})
    assert (job.status, job.queue, job.priority, job.max_retries) == ("pending", "default", 0, 3)
    assert jobs.get(pk=job.pk).payload == {"a": 1}


def test_what_is_returned_is_what_is_stored(jobs):
    job = jobs.enqueue(
        "send-invoice",
        {"invoice_id": 42},
        queue="mail",
        priority="high",
        max_retries=5,
        backoff=constant(30),
        idempotency_key="invoice-42",
        run_at=IN_AN_HOUR,
        meta={"trace": "abc"},
        enqueued_by="producer",
    )
    stored = jobs.get(pk=job.pk)
    fields = [field.attname for field in Job._meta.concrete_fields]
    assert {name: getattr(job, name) for name in fields} == {name: getattr(stored, name) for name in fields}


def test_a_payload_is_an_empty_object_when_left_out(jobs):
    assert jobs.enqueue("test.noop").payload == {}


def test_a_handlers_choices_are_its_jobs_defaults(jobs, handler):
    handler("test.chosen", queue="slow", priority="medium", max_retries=7)
    job = jobs.enqueue("test.chosen")
    assert (job.queue, job.priority, job.max_retries) == ("slow", 10, 7)


def test_the_callers_choices_go_before_the_handlers(jobs, handler):
    handler("test.chosen", queue="slow", priority="medium", max_retries=7)
    job = jobs.enqueue("test.chosen", queue="fast", priority=-3, max_retries=0)
    assert (job.queue, job.priority, job.max_retries) == ("fast", -3, 0)


def test_the_setting_is_the_default_of_retries(jobs, settings):
    settings.JOBQUEUE = {"MAX_RETRIES": 9}
    assert jobs.enqueue("test.unknown").max_retries == 9


@pytest.mark.parametrize(
    ("given", "stored"),
    [("low", 0), ("medium", 10), ("high", 20), ("critical", 30), (0, 0), (-100, -100), (100, 100), (7, 7)],
)
def test_a_priority_is_a_label_or_an_integer(jobs, given, stored):
    assert jobs.enqueue("test.noop", priority=given).priority == stored


@pytest.mark.parametrize(
    ("stored", "label"),
    [(-100, "low"), (-1, "low"), (0, "low"), (9, "low"), (10, "medium"), (20, "high"), (29, "high"),
     (30, "critical"), (100, "critical")],
)  # fmt: skip
def test_a_priority_between_two_labels_has_the_lower_ones(jobs, stored, label):
    assert jobs.enqueue("test.noop", priority=stored).priority_label == label


def test_a_run_at_ahead_schedules(jobs):
    run_at = datetime(2150, 5, 1, 12, 30, 15, 250_000, tzinfo=UTC)
    job = jobs.enqueue("test.noop", run_at=run_at)
    assert (job.status, jobs.get(pk=job.pk).run_at) == ("scheduled", run_at)


def test_a_run_at_that_has_come_is_pending(jobs):
    run_at = datetime(2020, 5, 1, 12, 30, tzinfo=UTC)
    job = jobs.enqueue("test.noop", run_at=run_at)
    assert (job.status, jobs.get(pk=job.pk).run_at) == ("pending", run_at)


def test_a_timedelta_is_counted_from_the_databases_now(jobs):
    job = jobs.enqueue("test.noop", run_at=timedelta(minutes=5))
    assert (job.status, job.run_at - job.created_at) == ("scheduled", timedelta(minutes=5))


def test_a_timedelta_of_nothing_is_pending(jobs):
    assert jobs.enqueue("test.noop", run_at=timedelta(0)).status == "pending"


def test_an_offset_names_the_same_instant(jobs):
    run_at = datetime(2150, 5, 1, 12, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
    job = jobs.enqueue("test.noop", run_at=run_at)
    assert jobs.get(pk=job.pk).run_at == datetime(2150, 5, 1, 3, 0, tzinfo=UTC)


def test_a_naive_run_at_is_read_in_the_projects_time_zone(jobs, settings):
    settings.TIME_ZONE = "America/New_York"
    job = jobs.enqueue("test.noop", run_at=datetime(2150, 1, 1, 12, 0))
    assert jobs.get(pk=job.pk).run_at == datetime(2150, 1, 1, 17, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "run_at", [datetime(1970, 1, 1, tzinfo=UTC), datetime(2199, 12, 31, 23, 59, tzinfo=UTC)]
)
def test_the_first_and_the_last_date_are_stored(jobs, run_at):
    job = jobs.enqueue("test.noop", run_at=run_at)
    assert jobs.get(pk=job.pk).run_at == run_at


def test_ids_rise_in_the_order_of_enqueueing(jobs):
    ids = [jobs.enqueue("test.noop").pk for _ in range(5)]
    assert ids == sorted(set(ids))


def test_a_handler_enqueues_its_own_jobs(jobs, handler):
    send = handler("test.send", queue="mail")
    job = send.using(priority="high", idempotency_key="invoice-42").enqueue(invoice_id=42, self="yes")
    stored = jobs.get(pk=job.pk)
    assert (stored.type, stored.queue, stored.priority) == ("test.send", "mail", 20)
    assert (stored.idempotency_key, stored.payload) == ("invoice-42", {"invoice_id": 42, "self": "yes"})


def test_a_handler_without_choices_enqueues_too(jobs, handler):
    job = handler("test.send").enqueue(invoice_id=42, self="yes")
    assert jobs.get(pk=job.pk).payload == {"invoice_id": 42, "self": "yes"}


def test_a_refused_job_asks_the_database_nothing(jobs, django_assert_num_queries):
    with django_assert_num_queries(0), pytest.raises(InvalidJob):
        jobs.enqueue("test.noop", {"price": float("nan")}, idempotency_key="invoice-42")


def test_one_statement_adds_a_job_without_a_key(jobs, django_assert_num_queries):
    with django_assert_num_queries(1):
        jobs.enqueue("test.noop", {"a": 1})

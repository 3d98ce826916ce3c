"""What ``assert_enqueued`` and ``refute_enqueued`` find."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import FieldError
from django.test import TestCase

from django_jobqueue.models import Job
from django_jobqueue.testing import assert_enqueued, refute_enqueued, run_jobs
from tests.testing import handlers


class Enqueued(TestCase):
    def setUp(self):
        self.first = handlers.naive.using(queue="mail").enqueue(name="first")
        self.second = handlers.naive.using(run_at=timedelta(hours=1)).enqueue(name="second")

    def test_jobs_of_a_type_are_found_the_oldest_first(self):
        found = assert_enqueued("testing.naive")
        assert [job.pk for job in found] == [self.first.pk, self.second.pk]

    def test_a_handler_stands_for_its_type(self):
        assert len(assert_enqueued(handlers.naive)) == 2

    def test_another_type_is_not_found(self):
        with pytest.raises(
            AssertionError, match=r"Expected at least one of 'testing.once' to be enqueued, found 0"
        ):
            assert_enqueued("testing.once")

    def test_a_payload_is_found_by_some_of_its_entries(self):
        Job.objects.enqueue("testing.two", {"a": 1, "b": [1, {"c": None}]})
        assert len(assert_enqueued("testing.two", {"b": [1, {"c": None}]})) == 1

    def test_an_entry_of_null_is_not_one_that_is_missing(self):
        refute_enqueued("testing.naive", {"other": None})

    def test_another_payload_is_not_found(self):
        with pytest.raises(AssertionError, match=r"\(payload=\{'name': 'third'\}\) to be enqueued, found 0"):
            assert_enqueued("testing.naive", {"name": "third"})

    def test_the_error_says_what_waits(self):
        with pytest.raises(AssertionError) as error:
            assert_enqueued("testing.naive", {"name": "third"})
        assert str(error.value).splitlines()[1:] == [
            "  'testing.naive' {'name': 'first'} in 'mail', pending",
            "  'testing.naive' {'name': 'second'} in 'default', scheduled",
        ]

    def test_the_number_can_be_asked_for(self):
        assert_enqueued("testing.naive", count=2)
        with pytest.raises(AssertionError, match=r"Expected 1 of 'testing.naive' to be enqueued, found 2"):
            assert_enqueued("testing.naive", count=1)

    def test_other_columns_can_be_asked_for(self):
        assert [job.pk for job in assert_enqueued("testing.naive", queue="mail")] == [self.first.pk]
        assert_enqueued("testing.naive", {"name": "second"}, run_at__gt=self.first.run_at)

    def test_a_column_that_is_not_there_is_an_error(self):
        with pytest.raises(FieldError):
            refute_enqueued("testing.naive", que="mail")

    def test_what_does_not_wait_is_refuted(self):
        refute_enqueued("testing.once")
        refute_enqueued("testing.naive", queue="other")

    def test_what_waits_is_not_refuted(self):
        with pytest.raises(
            AssertionError, match=r"Expected no 'testing.naive' \(queue='mail'\) to be enqueued, found 1"
        ):
            refute_enqueued(handlers.naive, queue="mail")

    def test_a_job_that_was_run_does_not_wait_any_more(self):
        run_jobs()
        assert_enqueued("testing.naive", count=1)

    def test_where_no_job_waits_the_error_says_so(self):
        run_jobs(until=timedelta(hours=1))
        with pytest.raises(AssertionError, match=r"No job waits\."):
            assert_enqueued("testing.naive")

"""Enqueueing takes part in the caller's transaction."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from django_jobqueue.models import Job
from django_jobqueue.signals import job_enqueued

pytestmark = pytest.mark.django_db(transaction=True)


def elsewhere(function):
    """Call ``function`` on a connection of its own."""

    def call():
        try:
            return function()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(30)


def test_a_committed_job_is_seen_by_others():
    with transaction.atomic():
        job = Job.objects.enqueue("test.noop")
    assert elsewhere(lambda: Job.objects.get(pk=job.pk).status) == "pending"


def test_nothing_is_seen_before_the_commit():
    with transaction.atomic():
        Job.objects.enqueue("test.noop")
        assert elsewhere(Job.objects.count) == 0


def test_a_rolled_back_job_leaves_nothing():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        Job.objects.enqueue("test.noop", idempotency_key="invoice-42")
        raise ZeroDivisionError
    assert Job.objects.count() == 0


def test_the_key_of_a_rolled_back_job_is_free():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        Job.objects.enqueue("test.noop", {"n": 1}, idempotency_key="invoice-42")
        raise ZeroDivisionError
    job = Job.objects.enqueue("test.noop", {"n": 2}, idempotency_key="invoice-42")
    assert (job.replayed, Job.objects.get(pk=job.pk).payload) == (False, {"n": 2})


def test_a_savepoint_that_is_rolled_back_takes_only_its_own_jobs():
    with transaction.atomic():
        kept = Job.objects.enqueue("test.noop")
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            Job.objects.enqueue("test.noop")
            raise ZeroDivisionError
    assert list(Job.objects.values_list("pk", flat=True)) == [kept.pk]


def test_many_are_added_all_or_none():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        Job.objects.enqueue_many([{"type": "test.noop"}] * 5)
        raise ZeroDivisionError
    assert Job.objects.count() == 0


def test_a_failure_and_its_record_are_one_transaction():
    Job.objects.enqueue("test.noop")
    job = Job.objects.claim(worker_id="worker-1")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        Job.objects.fail(job.pk, error="boom", fencing_token=1)
        raise ZeroDivisionError
    assert (Job.objects.get(pk=job.pk).status, job.attempts.count()) == ("running", 0)


def test_the_signal_is_sent_inside_the_transaction():
    seen = []

    def receive(sender, job_id, **_):
        seen.append((Job.objects.filter(pk=job_id).exists(), connection.in_atomic_block))

    job_enqueued.connect(receive)
    try:
        with transaction.atomic():
            Job.objects.enqueue("test.noop")
    finally:
        job_enqueued.disconnect(receive)
    assert seen == [(True, True)]


def test_a_receiver_that_raises_harms_no_job(caplog):
    def receive(**_):
        raise ZeroDivisionError

    job_enqueued.connect(receive)
    try:
        job = Job.objects.enqueue("test.noop")
    finally:
        job_enqueued.disconnect(receive)
    assert Job.objects.filter(pk=job.pk).exists()
    assert "Signal receiver" in caplog.text

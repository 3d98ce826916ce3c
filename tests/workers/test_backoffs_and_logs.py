"""Backoffs, texts of exceptions and logging are the project's code, too: none ends a worker or a caller."""

from __future__ import annotations

import io
import logging
import sys
import time

import pytest

from django_jobqueue import PermanentFailure, RetryLater, Snooze, job_handler, registry
from django_jobqueue.models import Job
from tests.support.workers import drain

pytestmark = pytest.mark.django_db(transaction=True)


class Evil:
    def __float__(self):
        raise SystemExit(3)


def leave(retry):
    raise SystemExit(3)


@pytest.mark.parametrize("backoff", [leave, lambda retry: Evil(), lambda retry: None, lambda retry: "soon"])
@pytest.mark.parametrize("lost", [True, False])
def test_a_backoff_may_do_anything_and_the_settings_takes_its_place(settings, caplog, backoff, lost):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "RETRY_BACKOFF": lambda retry: 300.0}

    @job_handler("test.backoff", backoff=backoff)
    def fail(job):
        raise ValueError

    try:
        job = Job.objects.enqueue("test.backoff")
        if lost:
            Job.objects.claim(worker_id="gone", lease_seconds=0.001)
            time.sleep(0.01)
            assert len(Job.objects.reap()) == 1
        else:
            assert drain() == {"retried": 1}
    finally:
        registry.unregister("test.backoff")
    job = Job.objects.get(pk=job.pk)
    assert (job.status, job.retry_count) == ("scheduled", 1)
    assert 299 < (job.run_at - job.updated_at).total_seconds() <= 301
    assert f"The backoff of job {job.pk} cannot be used" in caplog.text


@pytest.mark.parametrize("base", [ValueError, BaseException, PermanentFailure, Snooze, RetryLater])
@pytest.mark.parametrize("is_async", [True, False])
def test_an_exception_whose_text_raises_anything_is_a_recorded_end(base, is_async):
    class Unreadable(base):
        def __init__(self):
            if base in (Snooze, RetryLater):
                super().__init__(60)

        def __str__(self):
            raise SystemExit(3)

        __repr__ = __str__

    def fail(job):
        raise Unreadable

    async def fail_async(job):
        raise Unreadable

    try:
        job_handler("test.unreadable")(fail_async if is_async else fail)
        job = Job.objects.enqueue("test.unreadable", max_retries=1)
        healthy = Job.objects.enqueue("test.noop")
        drain()
    finally:
        registry.unregister("test.unreadable")
    assert Job.objects.get(pk=healthy.pk).status == "completed"
    job = Job.objects.get(pk=job.pk)
    assert job.status == ("scheduled" if base in (Snooze, RetryLater) else "failed")
    assert base is Snooze or "text cannot be read" in job.error


class Broken(logging.Handler):
    def emit(self, record):
        raise SystemExit(3)


@pytest.mark.parametrize("how", ["handler", "filter", "stderr"])
def test_logging_that_raises_harms_no_job_and_no_worker(monkeypatch, how):
    logger = logging.getLogger("django_jobqueue.worker")
    broken: logging.Handler = Broken()
    if how == "stderr":
        closed = io.StringIO()
        closed.close()
        monkeypatch.setattr(sys, "stderr", closed)
        broken = logging.StreamHandler(closed)
    elif how == "filter":
        broken = logging.NullHandler()
        broken.addFilter(lambda record: 1 / 0)
    logger.addHandler(broken)
    try:
        Job.objects.enqueue("test.fail", max_retries=1)
        Job.objects.enqueue("test.noop")
        assert drain() == {"retried": 1, "failed": 1, "completed": 1}
    finally:
        logger.removeHandler(broken)

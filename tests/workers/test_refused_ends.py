"""Ends that the database refuses for good, though it works: they cost their own job and no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from django_jobqueue.models import Job
from tests.support.processes import wait_until
from tests.support.workers import drain, running

pytestmark = pytest.mark.django_db(transaction=True)

RAISES = {
    "postgresql": [
        "CREATE FUNCTION refuse_end() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'refused'; END $$",
        "CREATE TRIGGER refuse_end BEFORE UPDATE ON django_jobqueue_job FOR EACH ROW WHEN ({}) "
        "EXECUTE FUNCTION refuse_end()",
    ],
    "mysql": [
        "CREATE TRIGGER refuse_end BEFORE UPDATE ON django_jobqueue_job FOR EACH ROW "
        "IF {} THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1644, MESSAGE_TEXT = 'refused'; END IF"
    ],
    "sqlite": [
        "CREATE TRIGGER refuse_end BEFORE UPDATE ON django_jobqueue_job WHEN {} "
        "BEGIN SELECT json('refused'); END"
    ],
}
DROPS = {
    "postgresql": ["DROP TRIGGER refuse_end ON django_jobqueue_job", "DROP FUNCTION refuse_end"],
    "mysql": ["DROP TRIGGER refuse_end"],
    "sqlite": ["DROP TRIGGER refuse_end"],
}


@contextmanager
def refusing(condition: str) -> Iterator[None]:
    """A trigger that raises an ``OperationalError``, not a ``DataError``, for updates that match ``condition``."""

    def execute(statements: list[str]) -> None:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement.replace("{}", condition))

    execute(RAISES[connection.vendor])
    try:
        yield
    finally:
        execute(DROPS[connection.vendor])


@pytest.mark.parametrize("keep_busy", [1, 30])
def test_a_completion_that_a_trigger_refuses_fails_its_job_and_no_other(keep_busy):
    bad = Job.objects.enqueue("test.noop", queue="bad")
    good = [Job.objects.enqueue("test.noop") for _ in range(keep_busy)]
    with refusing("NEW.queue = 'bad' AND NEW.status = 'completed'"), running():
        wait_until(lambda: Job.objects.get(pk=bad.pk).status == "failed")
        wait_until(lambda: Job.objects.filter(status="completed").count() == len(good))
    bad.refresh_from_db()
    assert bad.error == "The database refused the handler's result."
    assert bad.attempts.get().outcome == "failed"


def test_an_error_that_is_refused_is_recorded_without_its_text():
    bad = Job.objects.enqueue("test.fail", {"message": "unspeakable"}, max_retries=0)
    good = Job.objects.enqueue("test.noop")
    with refusing("NEW.error LIKE '%unspeakable%'"), running():
        wait_until(lambda: Job.objects.get(pk=bad.pk).status == "failed")
        wait_until(lambda: Job.objects.get(pk=good.pk).status == "completed")
    assert Job.objects.get(pk=bad.pk).error == "The database refused the error of this attempt."


def test_a_job_of_which_no_end_is_taken_is_left_to_its_lease():
    bad = Job.objects.enqueue("test.fail", queue="bad", max_retries=0)
    takes_no_end = "NEW.queue = 'bad' AND NEW.status <> 'running' AND OLD.status = 'running'"
    with refusing(takes_no_end), running(lease_seconds=1.0):
        wait_until(lambda: Job.objects.get(pk=bad.pk).status == "running")
        wait_until(lambda: Job.objects.get_queryset().stale().filter(pk=bad.pk).exists())
        good = Job.objects.enqueue("test.noop")
        wait_until(lambda: Job.objects.get(pk=good.pk).status == "completed")
    assert drain() == {}
    Job.objects.reap()
    assert Job.objects.get(pk=bad.pk).status == "failed"


if connection.vendor == "mysql":

    def test_a_result_past_the_packet_fails_its_job_and_no_other(settings):
        settings.JOBQUEUE = {**settings.JOBQUEUE, "MAX_RESULT_BYTES": 16 * 1024 * 1024}
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@max_allowed_packet")
            assert cursor.fetchone() == (16 * 1024 * 1024,)  # the server's default
        bad = Job.objects.enqueue("test.large_result", {"size": 16 * 1024 * 1024 - 50})
        good = [Job.objects.enqueue("test.noop") for _ in range(20)]
        with running():
            wait_until(lambda: Job.objects.get(pk=bad.pk).status == "failed")
            wait_until(lambda: Job.objects.filter(status="completed").count() == len(good))
        assert Job.objects.get(pk=bad.pk).error == "The database refused the handler's result."

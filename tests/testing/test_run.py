"""``run_jobs`` inside a plain ``TestCase``."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction
from django.test import TestCase, TransactionTestCase
from django.utils import translation

from django_jobqueue import job_handler, registry, signals
from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.models import Job, JobExecution
from django_jobqueue.testing import run_jobs, travel
from tests.support import effects  # noqa: F401 - registers handlers
from tests.support.models import Effect
from tests.testing import handlers


def names() -> list[str]:
    return list(Effect.objects.order_by("pk").values_list("name", flat=True))


def statuses() -> list[str]:
    return list(Job.objects.order_by("pk").values_list("status", flat=True))


class RunJobs(TestCase):
    def test_jobs_are_run_in_the_tests_own_transaction(self):
        handlers.naive.enqueue(name="charge")
        before = connection.connection
        assert run_jobs() == {"completed": 1}
        assert (names(), statuses()) == (["charge"], ["completed"])
        assert connection.connection is before
        assert connection.in_atomic_block

    def test_nothing_is_left_for_the_next_test(self):
        assert (names(), statuses()) == ([], [])

    def test_without_jobs_nothing_happens(self):
        assert run_jobs() == {}

    def test_jobs_that_jobs_enqueue_are_run_too(self):
        handlers.parent.enqueue(children=2)
        assert run_jobs() == {"completed": 3}
        assert names() == ["child 0", "child 1"]

    def test_jobs_run_in_the_order_of_a_worker(self):
        for name, priority in (("second", "high"), ("last", "low"), ("first", "critical"), ("third", "high")):
            handlers.naive.using(priority=priority).enqueue(name=name)
        run_jobs()
        assert names() == ["first", "second", "third", "last"]

    def test_only_the_queues_named_are_run(self):
        for queue in ("mail", "default"):
            handlers.naive.using(queue=queue).enqueue(name=queue)
        assert run_jobs(queues=["mail"]) == {"completed": 1}
        assert (names(), statuses()) == (["mail"], ["completed", "pending"])

    def test_a_job_that_is_retried_at_once_is_run_until_its_retries_are_used_up(self):
        job = Job.objects.enqueue("test.fail", {"message": "boom"}, max_retries=2)
        assert run_jobs() == {"retried": 2, "failed": 1}
        job = Job.objects.get(pk=job.pk)
        assert (job.error, job.attempts.count()) == ("RuntimeError: boom", 3)

    def test_what_a_handler_wrote_before_it_failed_stays(self):
        Job.objects.enqueue("testing.raise", {"kind": "ValueError"})
        assert run_jobs() == {"failed": 1}
        assert names() == ["before"]

    def test_with_reraise_the_handlers_error_comes_through_after_it_was_recorded(self):
        job = Job.objects.enqueue("testing.raise", {"kind": "ValueError"})
        with pytest.raises(ValueError, match="boom"):
            run_jobs(reraise=True)
        assert Job.objects.get(pk=job.pk).error == "ValueError: boom"

    def test_with_reraise_the_ends_that_a_handler_chooses_do_not_come_through(self):
        for type in ("test.permanent", "test.retry_later", "test.snooze"):
            Job.objects.enqueue(type, {} if type == "test.permanent" else {"delay": 60})
        assert run_jobs(reraise=True) == {"failed": 1, "retried": 1, "released": 1}

    def test_who_interrupts_the_test_is_heard(self):
        job = Job.objects.enqueue("testing.raise", {"kind": "KeyboardInterrupt"})
        with pytest.raises(KeyboardInterrupt):
            run_jobs()
        assert Job.objects.get(pk=job.pk).status == "failed"

    def test_a_handler_that_exits_fails_its_job_only(self):
        Job.objects.enqueue("testing.raise", {"kind": "SystemExit"})
        handlers.naive.enqueue(name="next")
        assert run_jobs() == {"failed": 1, "completed": 1}

    def test_a_type_without_a_handler_is_given_back(self):
        job = Job.objects.enqueue("testing.unknown")
        assert run_jobs() == {"released": 1}
        assert "No handler for the type" in Job.objects.get(pk=job.pk).error

    def test_a_job_without_end_is_noticed(self):
        job = handlers.snooze_for_ever.enqueue()
        with pytest.raises(RuntimeError, match=r"limit: 50 jobs were run and .* testing.snooze_for_ever"):
            run_jobs(limit=50)
        assert Job.objects.get(pk=job.pk).status == "pending"

    def test_a_statement_that_fails_in_a_handler_does_not_break_the_test(self):
        for how in ("sql", "orm"):
            with self.subTest(how):
                Job.objects.enqueue("testing.break_transaction", {"how": how})
                handlers.naive.enqueue(name="next")
                assert run_jobs() == {"failed": 1, "completed": 1}
                assert "next" in names()
                Effect.objects.all().delete()

    def test_what_a_handler_does_on_commit_is_done(self):
        handlers.on_commit.enqueue()
        assert run_jobs() == {"completed": 2}
        assert names() == ["after the commit"]

    def test_what_a_handler_would_have_done_on_a_commit_that_was_rolled_back_is_not_done(self):
        handlers.on_commit.enqueue(fail=True)
        assert run_jobs() == {"completed": 1}

    def test_a_function_on_commit_that_fails_fails_the_job_unless_it_is_robust(self):
        for robust in (True, False):
            handlers.on_commit_that_fails.enqueue(robust=robust)
        assert run_jobs() == {"completed": 1, "failed": 1}

    def test_functions_on_commit_of_the_test_are_left_to_the_test(self):
        def of_the_test():
            handlers.naive.enqueue(name="by the test")

        with self.captureOnCommitCallbacks() as callbacks:
            transaction.on_commit(of_the_test)
            handlers.on_commit.enqueue()
            run_jobs()
        assert names() == ["after the commit"]
        assert callbacks.count(of_the_test) == 1

    def test_an_async_handler_works_on_the_tests_connection(self):
        Effect.objects.create(name="by the test")
        job = handlers.async_count.enqueue()
        assert run_jobs() == {"completed": 1}
        assert (Job.objects.get(pk=job.pk).result, names()) == (2, ["by the test", "async"])

    def test_an_effect_that_happens_once_is_recorded(self):
        handlers.once.enqueue(name="charge")
        assert run_jobs() == {"completed": 1}
        assert (names(), JobExecution.objects.get().status) == (["charge"], "completed")

    def test_the_writes_of_an_atomic_handler_that_fails_are_undone(self):
        Job.objects.enqueue("test.atomic", {"how": "raise"}, max_retries=0)
        Job.objects.enqueue("test.atomic", {"how": "return"})
        assert run_jobs() == {"failed": 1, "completed": 1}
        assert names() == ["return"]

    def test_progress_is_stored(self):
        job = Job.objects.enqueue("test.progress")
        run_jobs()
        assert Job.objects.get(pk=job.pk).progress == {"done": 1}

    def test_a_handlers_language_does_not_reach_the_test(self):
        Job.objects.enqueue("test.misbehave", {"how": "other language"})
        run_jobs()
        assert translation.get_language() == "en-us"

    def test_the_ends_are_told_like_those_of_a_worker(self):
        told = []

        def hear(sender, job, outcome, **_):
            told.append((job.type, outcome))

        signals.job_finished.connect(hear)
        self.addCleanup(signals.job_finished.disconnect, hear)
        handlers.naive.enqueue(name="charge")
        run_jobs()
        assert told == [("testing.naive", "completed")]


class Time(TestCase):
    def setUp(self):
        for hours in (3, 1, 2):
            handlers.naive.using(run_at=timedelta(hours=hours)).enqueue(name=f"in {hours} h")

    def test_a_job_of_later_is_not_run_now(self):
        assert run_jobs() == {}

    def test_jobs_until_then_are_run_in_their_order(self):
        started = time.monotonic()
        assert run_jobs(until=timedelta(hours=2.5)) == {"completed": 2}
        assert names() == ["in 1 h", "in 2 h"]
        assert time.monotonic() - started < 10

    def test_the_time_has_passed_then(self):
        run_jobs(until=timedelta(hours=2.5))
        assert run_jobs(until=timedelta(minutes=20)) == {}
        assert run_jobs(until=timedelta(minutes=20)) == {"completed": 1}

    def test_until_can_be_a_point_in_time(self):
        assert run_jobs(until=datetime.now(UTC) + timedelta(hours=1.5)) == {"completed": 1}

    def test_until_then_other_queues_stay_as_they_are(self):
        assert run_jobs(queues=["mail"], until=timedelta(hours=4)) == {}

    def test_retries_with_a_backoff_are_run_in_their_time(self):
        Job.objects.all().delete()
        job = Job.objects.enqueue("test.slow_backoff", max_retries=3)  # 600 s each
        assert run_jobs(until=timedelta(seconds=1300)) == {"retried": 3}
        assert run_jobs(until=timedelta(seconds=400)) == {}
        assert run_jobs(until=timedelta(seconds=200)) == {"failed": 1}
        assert Job.objects.get(pk=job.pk).retry_count == 3

    def test_travelling_makes_jobs_due(self):
        travel(timedelta(hours=1.5))
        assert run_jobs() == {"completed": 1}
        travel(3600)
        assert run_jobs() == {"completed": 1}

    def test_travelling_lets_leases_run_out(self):
        Job.objects.run_now(Job.objects.earliest("run_at").pk)
        claimed = Job.objects.claim(worker_id="w1", lease_seconds=60)
        travel(50)
        assert Job.objects.reap() == []
        travel(11)
        assert [job.pk for job in Job.objects.reap()] == [claimed.pk]

    def test_nobody_travels_back(self):
        with pytest.raises(InvalidJob, match="by"):
            travel(-1)


class WithCommits(TransactionTestCase):
    def test_jobs_are_run_in_a_transactional_test_too(self):
        handlers.on_commit.enqueue()
        handlers.async_count.enqueue()
        Job.objects.enqueue("test.atomic")
        assert run_jobs() == {"completed": 4}
        assert sorted(names()) == ["after the commit", "async", "return"]


@pytest.mark.django_db
def test_an_isolated_async_handler_runs_here_too():
    @job_handler("testing.isolated_async", isolate=True)
    async def isolated(job, name: str) -> str:
        return name

    try:
        job = Job.objects.enqueue("testing.isolated_async", {"name": "alone"})
        run_jobs()
    finally:
        registry.unregister("testing.isolated_async")
    assert Job.objects.get(pk=job.pk).result == "alone"


def _enter(job):
    handlers.charge("lost")
    transaction.atomic().__enter__()
    handlers.charge("lost, too")


def _enter_twice(job):
    transaction.atomic().__enter__()
    transaction.atomic().__enter__()


async def _enter_async(job):
    await sync_to_async(_enter)(job)


def _begin(job):
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
    handlers.charge("lost")


def _no_autocommit(job):
    transaction.set_autocommit(False)
    handlers.charge("lost")


def _raise_inside(job):
    transaction.atomic().__enter__()
    handlers.charge("lost, too")
    raise ValueError


def _fails_what_leaves_a_transaction_open(function):
    def fine(job):
        with transaction.atomic():
            handlers.charge("fine")

    job_handler("testing.left_open")(function)
    job_handler("testing.fine")(fine)
    try:
        Job.objects.enqueue("testing.left_open", max_retries=0)
        Job.objects.enqueue("testing.fine")
        assert run_jobs() == {"failed": 1, "completed": 1}
    finally:
        registry.unregister("testing.left_open")
        registry.unregister("testing.fine")
    said = "ValueError" if function is _raise_inside else "with a database transaction open"
    assert said in Job.objects.get(type="testing.left_open").error
    assert "fine" in names() and "lost, too" not in names()
    assert transaction.get_connection().needs_rollback is False


@pytest.mark.django_db
@pytest.mark.parametrize("function", [_enter, _enter_twice, _enter_async, _raise_inside])
def test_a_handler_that_leaves_a_transaction_open_fails_in_a_test_case(function):
    _fails_what_leaves_a_transaction_open(function)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "function", [_enter, _enter_twice, _enter_async, _raise_inside, _begin, _no_autocommit]
)
def test_a_handler_that_leaves_a_transaction_open_fails_in_a_transactional_test(function):
    _fails_what_leaves_a_transaction_open(function)
    assert transaction.get_autocommit()
    assert not connection.in_atomic_block

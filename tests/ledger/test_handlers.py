"""``once``, ``atomic`` and ``complete_in_transaction`` inside handlers, in a worker of this process."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_jobqueue import job_handler, registry, signals
from django_jobqueue.models import Job, JobExecution
from django_jobqueue.workers.completion import complete_in_transaction
from django_jobqueue.workers.leases import Leases
from tests.ledger.test_transactions import ElsewhereRouter
from tests.support import effects
from tests.support.models import Effect
from tests.support.workers import drain

pytestmark = pytest.mark.django_db(transaction=True)


def run(type, payload=None, **options):
    """Run one job to its end; the job as it is then."""
    job = Job.objects.enqueue(type, payload, **options)
    counts = drain()
    done = Job.objects.get(pk=job.pk)
    done.counts = counts
    return done


def effects_of(job):
    return list(Effect.objects.filter(job=job.pk).order_by("pk").values_list("name", flat=True))


def end_of(job):
    return job.status, job.retry_count, job.result


def test_the_steps_of_a_job_that_failed_are_not_run_again_by_its_retry():
    job = run("test.once", {"steps": 3, "fail": True})
    assert job.counts == {"retried": 1, "completed": 1}
    assert job.result == [{"step": step, "attempt": 0} for step in range(3)]
    assert effects_of(job) == ["step 0", "step 1", "step 2"]


def test_the_step_of_an_async_handler_is_not_run_again_by_its_retry():
    job = run("test.async_once", {"fail": True})
    assert end_of(job) == ("completed", 1, {"step": 0, "attempt": 0})
    assert effects_of(job) == ["step 0"]


def test_the_entry_has_the_key_of_the_job_the_type_and_the_worker():
    job = Job.objects.enqueue("test.once")
    drain(worker_id="w1")
    entry = JobExecution.objects.get()
    assert (entry.pk, entry.job_type, entry.owner) == (f"job:{job.pk}:step 0", "test.once", "w1")


def test_a_job_with_an_idempotency_key_lends_it_to_its_effects():
    run("test.once", idempotency_key="invoice-42")
    assert JobExecution.objects.get().pk == "key:invoice-42:step 0"


def test_a_job_that_finds_its_effect_in_progress_waits_and_counts_no_retry(left_open):
    job = Job.objects.enqueue("test.once")
    left_open(f"job:{job.pk}:step 0", seconds=20)
    counts = drain()
    job = Job.objects.get(pk=job.pk)
    assert counts == {"released": 1}
    assert (job.status, job.retry_count, effects_of(job)) == ("scheduled", 0, [])


def test_a_job_whose_effect_is_in_doubt_fails_whatever_retries_it_has_left(left_open):
    job = Job.objects.enqueue("test.once", {"on_stale": "halt"})
    left_open(f"job:{job.pk}:step 0")
    counts = drain()
    job = Job.objects.get(pk=job.pk)
    assert counts == {"failed": 1}
    assert job.error.startswith("ExecutionInDoubt:")
    assert effects_of(job) == []


def test_a_job_with_an_effect_inside_itself_fails_and_does_not_wait_for_ever():
    job = run("test.nested_once")
    assert job.counts == {"failed": 1}
    assert job.error.startswith("NestedExecution:")


def test_once_an_effect_in_doubt_is_settled_the_job_can_be_retried(left_open):
    job = Job.objects.enqueue("test.once", {"on_stale": "halt"})
    left_open(f"job:{job.pk}:step 0")
    drain()
    JobExecution.objects.confirm(f"job:{job.pk}:step 0", result="by hand")
    Job.objects.retry(job.pk)
    drain()
    assert end_of(Job.objects.get(pk=job.pk)) == ("completed", 0, ["by hand"])
    assert effects_of(job) == []


def test_an_atomic_handler_its_writes_and_its_end_commit_together():
    job = run("test.atomic")
    assert end_of(job) == ("completed", 0, {"done": 0})
    assert job.counts == {"completed": 1}
    assert effects_of(job) == ["return"]


def test_an_atomic_handler_that_committed_and_was_not_told_so_is_counted_as_completed():
    job = run("test.atomic", {"how": "lose answer"})
    assert end_of(job) == ("completed", 0, None)
    assert job.counts == {"completed": 1}
    assert effects_of(job) == ["lose answer"]


def test_an_atomic_handler_needs_no_result():
    assert end_of(run("test.atomic", {"how": "nothing"})) == ("completed", 0, None)


def test_an_atomic_handler_that_raises_leaves_no_writes():
    job = run("test.atomic", {"how": "raise"}, max_retries=1)
    assert end_of(job) == ("failed", 1, None)
    assert effects_of(job) == []


def test_an_atomic_handler_whose_result_is_not_json_leaves_no_writes_and_is_not_retried():
    job = run("test.atomic", {"how": "not json"})
    assert end_of(job) == ("failed", 0, None)
    assert "writes were rolled back: its result: set is not JSON" in job.error
    assert effects_of(job) == []


def test_an_atomic_handler_that_is_over_time_leaves_no_writes():
    job = run("test.atomic_timeout")
    assert job.status == "failed"
    assert job.attempts.get().outcome == "timed_out"
    assert effects_of(job) == []


def test_a_timeout_of_an_atomic_handler_does_not_reach_the_next_job():
    Job.objects.enqueue("test.atomic_timeout")
    job = Job.objects.enqueue("test.effect", {"seconds": 0.5})
    drain(concurrency=1)
    assert Job.objects.get(pk=job.pk).status == "completed"


@pytest.fixture
def lost_claim():
    def take_away(sender, job, **_):
        effects.lose_claim(job)

    signals.job_started.connect(take_away)
    yield
    signals.job_started.disconnect(take_away)


def test_an_atomic_handler_whose_claim_was_lost_leaves_no_writes_and_no_end(lost_claim):
    job = run("test.atomic")
    assert job.counts == {"lost": 1}
    assert end_of(job) == ("running", 0, None)
    assert effects_of(job) == []


def test_a_handler_that_completes_its_job_by_hand_commits_its_writes_with_it(caplog):
    job = run("test.by_hand")
    assert end_of(job) == ("completed", 0, {"done": 0})
    assert job.counts == {"completed": 1}
    assert effects_of(job) == ["return"]
    assert "raised RuntimeError after it had completed the job" in caplog.text


def test_what_a_handler_returns_after_it_completed_its_job_is_not_stored():
    assert end_of(run("test.by_hand", {"how": "nothing"})) == ("completed", 0, None)


@pytest.mark.parametrize("how", ["raise", "not json", "nested"])
def test_by_hand_a_block_that_fails_leaves_no_writes(how):
    job = run("test.by_hand", {"how": how}, max_retries=0)
    assert end_of(job) == ("failed", 0, None)
    assert effects_of(job) == []


def test_by_hand_a_lost_claim_leaves_no_writes_and_no_end():
    job = run("test.by_hand", {"how": "lose claim"})
    assert job.counts == {"lost": 1}
    assert end_of(job) == ("running", 0, None)
    assert effects_of(job) == []


def test_an_atomic_effect_in_an_atomic_handler_commits_with_it():
    job = run("test.atomic", {"how": "once"})
    assert job.result == {"step": 7, "attempt": 0}
    assert effects_of(job) == ["once", "step 7"]
    assert JobExecution.objects.get().status == "completed"


def test_an_outside_effect_in_an_atomic_handler_is_refused_before_it_happens():
    job = run("test.atomic", {"how": "once outside"}, max_retries=0)
    assert "TransactionManagementError" in job.error
    assert effects_of(job) == []


def test_a_heartbeat_in_a_transaction_locks_nothing_and_stores_nothing():
    job = run("test.atomic", {"how": "heartbeat"})
    assert (job.status, job.progress) == ("completed", None)


def test_the_end_of_an_atomic_handler_is_told_like_any_other():
    told = []

    def hear(sender, job, outcome, **_):
        told.append((job.type, outcome))

    signals.job_finished.connect(hear)
    try:
        run("test.atomic")
    finally:
        signals.job_finished.disconnect(hear)
    assert told == [("test.atomic", "completed")]


def test_a_claim_that_is_renewed_between_commit_and_report_is_not_taken_for_lost():
    class Manager:
        def renew_many(self, claims, *, lease_seconds):
            return {}

    job = SimpleNamespace(id=1, type="test.atomic", fencing_token=1, claim_lost=False, completed=True)
    leases = Leases(Manager(), lease_seconds=0)
    leases.hold([job])
    leases.renew()
    assert not job.claim_lost


def test_an_async_handler_cannot_be_atomic():
    async def handler(job):
        """Never called."""

    with pytest.raises(ValueError, match="atomic: an async handler cannot be"):
        job_handler("test.never", atomic=True)(handler)
    assert registry.get("test.never") is None


def test_an_atomic_handler_is_refused_where_the_jobs_are_in_another_database():
    class Manager:
        write_alias = ElsewhereRouter().db_for_write(Job)

    class Running:
        id = 7

    with pytest.raises(ImproperlyConfigured, match=r"job 7 .* a database router puts it into 'queue'"):
        complete_in_transaction(Manager(), Running()).__enter__()


def test_the_row_of_an_atomic_job_goes_where_completed_jobs_are_not_kept(settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "KEEP_COMPLETED": False}
    gone = Job.objects.enqueue("test.atomic")
    kept = Job.objects.enqueue("test.atomic", idempotency_key="invoice-42")
    assert drain() == {"completed": 2}
    assert [job.pk for job in Job.objects.all()] == [kept.pk]
    assert effects_of(gone) == effects_of(kept) == ["return"]

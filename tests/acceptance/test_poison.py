"""Jobs that kill their process: only they fail, however many there are, and the jobs beside them complete."""

from __future__ import annotations

from collections import Counter

import pytest

from django_jobqueue.models import Job, JobAttempt
from tests.support.processes import Processes, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

QUICK = {"lease": 1.0, "poll_interval": 0.05}


def statuses(type: str) -> Counter[str]:
    return Counter(Job.objects.filter(type=type).values_list("status", flat=True))


def run_to_an_end(processes: Processes, **options: object) -> int:
    """Run a worker, a new one each time that it dies, until no job is left; returns how often one died."""
    workers = [processes.worker(**QUICK, **options)]

    def over() -> bool:
        if not workers[-1].is_alive():
            workers.append(processes.worker(**QUICK, **options))
        return not Job.objects.filter(status__in=("pending", "scheduled", "running")).exists()

    wait_until(over, timeout=240, interval=0.05)
    return len(workers) - 1


@pytest.mark.parametrize("healthy", ["test.effect", "test.async_effect", "test.atomic_effect"])
def test_one_job_that_kills_its_process_fails_alone(processes: Processes, healthy: str):
    Job.objects.enqueue_many([{"type": healthy, "payload": {"seconds": 0.02}} for _ in range(10)])
    poison = Job.objects.enqueue("test.crash")
    Job.objects.enqueue_many([{"type": healthy, "payload": {"seconds": 0.02}} for _ in range(10)])
    run_to_an_end(processes)
    assert statuses(healthy) == {"completed": 20}
    poison.refresh_from_db()
    assert (poison.status, poison.retry_count) == ("failed", 3)
    assert poison.attempts.count() == 4


def test_many_poisons_among_many_jobs_fail_alone(processes: Processes):
    for _ in range(20):
        Job.objects.enqueue_many([{"type": "test.crash"}] + [{"type": "test.noop"}] * 4)
        Job.objects.enqueue_many([{"type": "test.exit"}] + [{"type": "test.async_effect"}] * 4)
    died = run_to_an_end(processes, async_concurrency=20)
    assert statuses("test.noop") == {"completed": 80}
    assert statuses("test.async_effect") == {"completed": 80}
    assert statuses("test.crash") == statuses("test.exit") == {"failed": 20}
    assert died <= 40
    healthy = JobAttempt.objects.filter(job__status="completed")
    assert max(Counter(healthy.values_list("job", flat=True)).values()) == 1


def test_a_job_that_was_lost_once_takes_no_worker_with_it_again(processes: Processes):
    poison = Job.objects.enqueue("test.crash_at_every_other_attempt", max_retries=5)
    assert run_to_an_end(processes) == 1
    poison.refresh_from_db()
    assert (
        list(poison.attempts.order_by("number").values_list("outcome", flat=True))
        == ["lost"] + ["failed"] * 5
    )

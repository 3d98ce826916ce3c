from __future__ import annotations

import inspect
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from django_jobqueue.client import AsyncJobQueue, Claim, ClaimLost, Invalid, JobQueue, Refused, Unavailable
from django_jobqueue.models import Job
from tests.api.conftest import TYPE
from tests.client.conftest import Losing

pytestmark = pytest.mark.django_db(transaction=True)

WITHOUT_DJANGO = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("django", "rest_framework"):
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
import django_jobqueue.client
"""


def test_importing_it_needs_no_django():
    subprocess.run([sys.executable, "-c", WITHOUT_DJANGO], check=True)


def test_both_clients_have_the_same_methods_with_the_same_arguments():
    def methods(kind):
        found = inspect.getmembers(kind, inspect.isfunction)
        public = {name: value for name, value in found if not name.startswith("_")}
        return {
            name.replace("aclose", "close"): list(inspect.signature(value).parameters)
            for name, value in public.items()
        }

    assert methods(JobQueue) == methods(AsyncJobQueue)


def test_a_job_from_enqueue_to_its_result(queue):
    added = queue.enqueue(TYPE, {"width": 4}, priority="medium", run_at=datetime(2020, 1, 1, tzinfo=UTC))
    claim = queue.claim("w-1", types=[TYPE], lease_seconds=60)
    assert isinstance(claim, Claim)
    assert (claim.id, claim.payload, claim.lease_expires_in) == (added.id, {"width": 4}, 60)
    lease = queue.heartbeat(claim, lease_seconds=90, progress={"percent": 50})
    assert (lease.lease_expires_in, lease.cancel_requested) == (90, False)
    done = queue.complete(claim, {"pixels": 16})
    assert (done.status, done.result, done.progress) == ("completed", {"pixels": 16}, {"percent": 50})
    assert queue.get(added.id) == done
    assert queue.claim("w-1") is None


def test_failing_and_releasing(queue):
    job = queue.enqueue(TYPE, max_retries=1)
    assert queue.release(queue.claim("w")).retry_count == 0
    assert queue.fail(queue.claim("w"), "boom").retry_count == 1
    assert queue.fail(queue.claim("w"), "boom", retryable=False).status == "failed"
    assert queue.retry(job.id).status == "pending"
    assert queue.cancel(job.id).status == "cancelled"


def test_batches(queue):
    jobs = [queue.enqueue(TYPE).id for _ in range(3)]
    claims = queue.claim_batch("w", 10)
    assert [claim.id for claim in claims] == jobs
    queue.complete(claims[0])
    assert queue.complete_batch([(claim, {"n": claim.id}) for claim in claims]) == ["already", "ok", "ok"]
    assert Job.objects.get(pk=jobs[2]).result == {"n": jobs[2]}


def test_a_list_goes_over_all_pages(queue):
    jobs = [queue.enqueue(TYPE, queue=name).id for name in "aabab"]
    found = [job.id for job in queue.jobs(queue=["a"], status="pending", page_size=1)]
    assert found == [jobs[3], jobs[1], jobs[0]]


def test_a_key_that_a_job_has_already_gives_that_job(queue):
    first, second = (queue.enqueue(TYPE, idempotency_key="k") for _ in range(2))
    assert (first.replayed, second.replayed, second.id) == (False, True, first.id)


def test_a_lost_claim_is_told(queue):
    queue.enqueue(TYPE)
    claim = queue.claim("w")
    Job.objects.reap(older_than=0)
    for call in (queue.heartbeat, queue.complete, queue.release):
        with pytest.raises(ClaimLost):
            call(claim)
    with pytest.raises(ClaimLost):
        queue.fail(claim, "boom")


def test_a_bad_value_is_told_with_its_field(queue):
    with pytest.raises(Invalid) as caught:
        queue.enqueue("no-such-type", max_retries=-1)
    assert list(caught.value.body) == ["max_retries"]
    with pytest.raises(Refused) as refused:
        queue.get(4711)
    assert refused.value.status == 404


def test_lost_answers_are_asked_for_again(connect):
    def once():
        return connect(losing=Losing(1))

    job = once().enqueue(TYPE, {"n": 1}, idempotency_key="k")
    assert (job.replayed, Job.objects.count()) == (True, 1)
    claim = once().claim("w")
    assert (claim.id, claim.fencing_token) == (job.id, 1)
    assert once().fail(claim, "boom").retry_count == 1
    claims = once().claim_batch("w", 5)
    assert [(claim.id, claim.fencing_token) for claim in claims] == [(job.id, 2)]
    assert once().complete(claims[0], 5).result == 5
    assert once().complete_batch([(claims[0], 5)]) == ["already"]


def test_a_call_that_is_not_safe_to_repeat_is_sent_once(connect):
    losing = Losing(1)
    with pytest.raises(Unavailable):
        connect(losing=losing).enqueue(TYPE)
    assert (losing.sent, Job.objects.count()) == (1, 1)


def test_the_tries_have_an_end(connect):
    losing = Losing(10)
    with pytest.raises(Unavailable):
        connect(losing=losing, tries=2).claim("w")
    assert losing.sent == 2


def test_a_full_queue_is_tried_again_when_the_server_says(connect, settings, monkeypatch):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "MAX_QUEUE_DEPTH": 1}
    monkeypatch.setattr("django_jobqueue.api.errors.RETRY_AFTER", 1)
    connect().enqueue(TYPE)
    with pytest.raises(Unavailable) as caught:
        connect(tries=2).enqueue(TYPE)
    assert "queue_full" in str(caught.value)

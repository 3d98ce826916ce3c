"""What a handler gets equals the JSON form of what was enqueued, on every database."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_jobqueue.jobs.running.complete import dump_result
from django_jobqueue.models import Job

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts, values, max_size=5)

quickly = settings(
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types: 1 is neither True nor 1.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other and type(one) is type(other)


@quickly
@given(payload=objects)
def test_a_payload_comes_back_as_it_went_in(jobs, payload):
    enqueued = jobs.enqueue("test.echo", payload)
    claimed = jobs.claim(worker_id="worker-1")
    read = jobs.get(pk=enqueued.pk)
    assert claimed.pk == enqueued.pk
    assert same(enqueued.payload, payload)
    assert same(claimed.payload, payload)
    assert same(read.payload, payload)


def test_numbers_keep_their_kind(jobs):
    payload = {
        "floats": [1.0, 1e15, 1e16, -1.5e17, 1e300, 5e-324],
        "text": "\\u00001.0\\u0000",
        "int": 10**16,
    }
    job = jobs.enqueue("test.echo", payload)
    assert same(jobs.get(pk=job.pk).payload, payload)


@quickly
@given(payload=objects)
def test_the_same_payload_again_is_no_mismatch(jobs, payload):
    key = f"key-{jobs.count()}"
    jobs.enqueue("test.echo", payload, idempotency_key=key)
    again = jobs.enqueue("test.echo", payload, idempotency_key=key)
    assert (again.replayed, again.mismatch) == (True, "")


@quickly
@given(payload=objects)
def test_a_payload_that_was_read_can_be_enqueued_again(jobs, payload):
    read = jobs.get(pk=jobs.enqueue("test.echo", payload).pk).payload
    again = jobs.enqueue("test.echo", read)
    assert same(jobs.get(pk=again.pk).payload, payload)


@quickly
@given(result=values, progress=values)
def test_a_result_and_progress_come_back_as_they_went_in(jobs, result, progress):
    jobs.enqueue("test.echo")
    job = jobs.claim(worker_id="worker-1")
    beating = jobs.heartbeat(job.pk, fencing_token=job.fencing_token, progress=progress)
    done = jobs.complete(job.pk, fencing_token=job.fencing_token, result=result)
    read = jobs.get(pk=job.pk)
    assert same(beating.progress, progress)
    assert same(read.progress, progress)
    assert same(done.result, result)
    assert same(read.result, result)


@quickly
@given(results=st.lists(values, min_size=1, max_size=5))
def test_results_of_many_come_back_as_they_went_in(jobs, results):
    jobs.enqueue_many([{"type": "test.echo"}] * len(results))
    claimed = jobs.claim_many(worker_id="worker-1", limit=len(results))
    done = zip(claimed, map(dump_result, results), strict=True)
    jobs.complete_many([(job.pk, job.fencing_token, text) for job, text in done])
    stored = dict(Job.objects.filter(pk__in=[job.pk for job in claimed]).values_list("pk", "result"))
    assert all(same(stored[job.pk], result) for job, result in zip(claimed, results, strict=True))


@quickly
@given(meta=st.dictionaries(texts.filter(lambda name: not name.startswith("_")), values, max_size=4))
def test_meta_comes_back_as_it_went_in(jobs, meta):
    job = jobs.enqueue("test.echo", meta=meta)
    assert same(job.meta, meta)
    assert same(jobs.get(pk=job.pk).meta, meta)

"""A job that is added with many others is the job that it would be alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_jobqueue import constant, exponential
from django_jobqueue.models import Job
from tests.jobs.test_payload import objects, texts

words = texts.filter(str.strip)
times = st.datetimes(datetime(1970, 1, 2), datetime(2199, 12, 30), timezones=st.just(UTC))
optional = {
    "payload": objects,
    "queue": st.sampled_from(["default", "mail", "été", "a b", "'; --", '{"x",NULL}']) | words,
    "priority": st.integers(-100, 100) | st.sampled_from(["low", "high"]),
    "max_retries": st.integers(0, 1000),
    "backoff": st.sampled_from([constant(5), exponential(), "tests.support.rows.seven_seconds"]),
    "run_at": times | st.timedeltas(timedelta(hours=1), timedelta(days=900)),
    "meta": st.dictionaries(
        texts.filter(lambda name: not name.startswith("_")), st.integers(0, 9), max_size=2
    ),
}
items = st.fixed_dictionaries(
    {"type": st.sampled_from(["test.noop", "test.fail", "NULL", "a,b"])}, optional=optional
)
KEPT = ("type", "payload", "queue", "priority", "max_retries", "status", "meta", "enqueued_by", "retry_count")


def kept(job: Job) -> dict:
    return {name: getattr(job, name) for name in KEPT}


@settings(
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(items=st.lists(items, min_size=1, max_size=6), keyed=st.booleans())
def test_many_are_what_each_would_be_alone(jobs, items, keyed):
    first = jobs.count()
    keys = [f"{first}-é'{number}" if keyed or number % 2 else None for number in range(len(items))]
    many = jobs.enqueue_many(
        [{**item, "idempotency_key": key} for item, key in zip(items, keys, strict=True)],
        enqueued_by="producer",
    )
    together = [jobs.get(pk=outcome.id) for outcome in many]
    alone = [jobs.get(pk=jobs.enqueue(**item, enqueued_by="producer").pk) for item in items]
    assert [kept(job) for job in together] == [kept(job) for job in alone]
    assert [job.idempotency_key for job in together] == keys
    for one, other, item in zip(together, alone, items, strict=True):
        if isinstance(item.get("run_at"), datetime):
            assert one.run_at == other.run_at
        else:
            waits = [job.run_at - job.created_at for job in (one, other)]
            assert abs(waits[0] - waits[1]) < timedelta(milliseconds=1)

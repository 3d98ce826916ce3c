"""Acknowledgements reach their rows by primary key only, also while 10,000 jobs run.

The indexes of running jobs are small, and a planner that remembers a time when few jobs ran would rather visit each
of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from django.db import connection

from django_jobqueue.models import Job
from django_jobqueue.vendors import HeldClaim
from tests.vendors.crowd import add_rows, analyze, remove_rows
from tests.vendors.plans import explain, statements_of

ACKNOWLEDGEMENTS: dict[str, Callable[[Sequence[int]], Any]] = {
    "complete": lambda ids: Job.objects.complete(ids[0], fencing_token=1, result={}),
    "heartbeat": lambda ids: Job.objects.heartbeat(ids[0], fencing_token=1, progress=1),
    "release": lambda ids: Job.objects.release(ids[0], fencing_token=1),
    "fail": lambda ids: Job.objects.fail(ids[0], error="boom", fencing_token=1),
    "cancel": lambda ids: Job.objects.cancel(ids[0]),
    "complete_many": lambda ids: Job.objects.complete_many([(id, 1, "{}") for id in ids]),
    "complete_many without results": lambda ids: Job.objects.complete_many([(id, 1, None) for id in ids]),
    "complete_claims without rows": lambda ids: Job.objects.complete_claims(
        HeldClaim(id, 1, keep=False) for id in ids
    ),
    "renew_many": lambda ids: Job.objects.renew_many([(id, 1) for id in ids], lease_seconds=60),
}
PREPARED = [
    name for name in ACKNOWLEDGEMENTS if "complete_many" in name and connection.vendor == "postgresql"
]

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True, params=["none ran", "a few ran", "all ran"])
def crowd(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """10,000 running jobs among 20,000 others, and what the planner saw when it looked last."""
    seen = {"none ran": 0, "a few ran": 100, "all ran": 10_000}[request.param]
    with django_db_blocker.unblock():
        add_rows(20_000, "completed")
        if seen:
            add_rows(seen, "running")
        analyze()
        if seen < 10_000:
            add_rows(10_000 - seen, "running")
        yield
        remove_rows()


@pytest.mark.parametrize(
    ("what", "prepared"),
    [*((what, False) for what in ACKNOWLEDGEMENTS), *((what, True) for what in PREPARED)],
)
@pytest.mark.parametrize("count", [1, 50])
def test_ten_thousand_running_jobs_are_reached_by_primary_key_only(what, prepared, count):
    ids = list(Job.objects.filter(status="running").order_by("-id").values_list("pk", flat=True)[:count])
    statements = statements_of(lambda: ACKNOWLEDGEMENTS[what](ids))
    assert statements
    for statement in statements:
        plan = explain(statement, prepared=prepared)
        assert plan.indexes == {"primary"}, plan.text
        assert not plan.scans, plan.text

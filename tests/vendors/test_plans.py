"""With 200,000 finished and future rows in the table, the hot statements use their index and never sort."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from django_jobqueue.jobs.queryset import table_of
from django_jobqueue.models import Job
from django_jobqueue.vendors import Claim, vendor_for
from tests.vendors.crowd import add_rows, analyze, remove_rows
from tests.vendors.plans import explain, statements_of

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def crowd(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock():
        add_rows(100_000, "completed")
        add_rows(100_000, "scheduled", run_in=86400)
        add_rows(50, "scheduled", run_in=-60)
        add_rows(300, "pending")
        add_rows(50, "running", lease=-60)
        add_rows(50, "running", lease=600)
        add_rows(50, "failed")
        Job.objects.enqueue("test.noop", idempotency_key="invoice-42", queue="keyed")
        analyze()
        yield
        remove_rows()


CLAIM = {"jobqueue_job_pending", "primary"}
STATEMENTS: dict[str, tuple[Callable[[], Any], set[str]]] = {
    "claim of one": (lambda: claim(1, ["queue-1"]), CLAIM),
    "claim of many": (lambda: claim(50, ["queue-1"]), CLAIM),
    "claim of some queues": (lambda: claim(20, ["queue-1", "queue-2", "queue-4", "nobody"]), CLAIM),
    "claim of one from some queues": (lambda: claim(1, ["queue-1", "queue-2"]), CLAIM),
    "claim of all queues": (lambda: claim(20, None), CLAIM),
    "claim of types": (lambda: claim(5, ["queue-1"], ["test.noop", "test.echo"]), CLAIM),
    "promote": (lambda: Job.objects.promote(), {"jobqueue_job_scheduled", "primary"}),
    "list of the stale": (lambda: list(Job.objects.list_stale()), {"jobqueue_job_running"}),
    "list of the old": (lambda: list(Job.objects.list_stale(older_than=60)), {"jobqueue_job_running"}),
    "heads of all queues": (lambda: vendor().heads(connection, table(), None), CLAIM),
    "heads of some queues": (lambda: vendor().heads(connection, table(), ["queue-1", "queue-2"]), CLAIM),
    "peek": (
        lambda: vendor().peek(connection, table(), ["queue-1", "queue-2"], limit=50),
        {"jobqueue_job_pending"},
    ),
    "look for a key": (
        lambda: Job.objects.enqueue("test.noop", idempotency_key="invoice-42"),
        {"jobqueue_job_idempotency_key"},
    ),
}


def claim_behind():
    """What a worker's ``exchange`` sends past Django's cursor."""
    claim = Claim(worker_id="worker-1", claimed_by="", lease_seconds=60)
    wanted = vendor()._claim(table(), claim, queue="queue-1", limit=20)
    vendor()._rows(
        connection, *vendor()._chosen_after(connection, table(), (1, 5), "queue-1", 20, wanted, ["id"])
    )


PREPARED: list[str] = []
"""What is prepared where that is possible: its plan for any parameters counts too."""

if connection.vendor == "postgresql":
    STATEMENTS["claim behind a place"] = (claim_behind, CLAIM)
    PREPARED = ["claim of one", "claim of many", "claim behind a place"]


def claim(limit, queues, types=None):
    jobs = Job.objects.claim_many(worker_id="worker-1", limit=limit, queues=queues, types=types)
    assert len(jobs) == limit


def vendor():
    return vendor_for(connection)


def table():
    return table_of(Job)


@pytest.mark.parametrize(
    ("what", "prepared"), [*((what, False) for what in STATEMENTS), *((what, True) for what in PREPARED)]
)
def test_a_statement_uses_its_index_and_sorts_nothing(what, prepared):
    function, indexes = STATEMENTS[what]
    plans = [explain(sent, prepared=prepared) for sent in statements_of(function)]
    assert plans
    for plan in plans:
        assert not plan.scans, plan.text
        assert not plan.sorts, plan.text
    assert set.union(*(plan.indexes for plan in plans)) == indexes, "\n\n".join(plan.text for plan in plans)

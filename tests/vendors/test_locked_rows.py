"""A row that another transaction holds keeps no other from being renewed or completed, and is not taken for lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from django_jobqueue.jobs.running.claims import still_held
from django_jobqueue.models import Job
from django_jobqueue.vendors import HeldClaim
from tests.support.workers import drain

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def locked(job_id: int) -> Iterator[None]:
    """Another connection holds the row."""
    holds, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Job.objects.select_for_update().get(pk=job_id)
            holds.set()
            done.wait(60)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert holds.wait(30)
        yield
    finally:
        done.set()
        thread.join(30)


if connection.vendor != "sqlite":  # there, one write lock is for all rows

    @pytest.fixture
    def claims() -> list[tuple[int, int]]:
        for _ in range(3):
            Job.objects.enqueue("test.noop")
        return [(job.pk, job.fencing_token) for job in Job.objects.claim_many(worker_id="w", limit=3)]

    def test_a_renewal_passes_over_a_locked_row(claims: list[tuple[int, int]]):
        Job.objects.release(claims[2][0])
        with locked(claims[0][0]):
            assert Job.objects.renew_many(claims, lease_seconds=60) == {claims[1][0]: False}
            assert still_held(Job.objects, claims) == {claims[0][0]: False, claims[1][0]: False}
        assert set(Job.objects.renew_many(claims, lease_seconds=60)) == {id for id, _ in claims[:2]}

    @pytest.mark.parametrize("keep", [True, False])
    def test_a_workers_completion_passes_over_a_locked_row(claims: list[tuple[int, int]], keep: bool):
        held = [HeldClaim(id, token, None, keep) for id, token in claims]
        with locked(claims[0][0]):
            assert Job.objects.complete_claims(held, skip_locked=True) == {id for id, _ in claims[1:]}
            assert still_held(Job.objects, claims) == {claims[0][0]: False}
        assert Job.objects.complete_claims(held, skip_locked=True) == {claims[0][0]}

    def test_a_handler_that_holds_its_own_row_delays_no_neighbours_renewal():
        own = Job.objects.enqueue("test.lock_own_row", {"seconds": 3})
        neighbour = Job.objects.enqueue("test.lease_at_the_end", {"seconds": 2.5})
        assert drain(lease_seconds=1.5, concurrency=2) == {"completed": 2}
        neighbour.refresh_from_db()
        own.refresh_from_db()
        assert neighbour.result is True
        assert (own.status, own.fencing_token) == ("completed", 1)

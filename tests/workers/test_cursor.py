"""Claiming behind the end of the last claim, while the head of the queue is slow."""

from __future__ import annotations

import pytest
from django.db import connection

from django_jobqueue.jobs.pending.take import Wanted
from django_jobqueue.models import Job
from django_jobqueue.vendors import Claim, vendor_for
from django_jobqueue.workers.cursor import Cursor

CLAIM = Claim(worker_id="w", claimed_by="", lease_seconds=60)


def claimed(limit: int, after: tuple[int, int] | None) -> list[int]:
    return [row[0] for row in Job.objects.exchange([], CLAIM, Wanted(limit, ["default"], after=after))[1]]


def test_a_quick_claim_leaves_no_cursor():
    cursor = Cursor()
    cursor.note(("mail", 0, 7), 0.001, work=1, from_head=True)
    assert cursor.after("mail") is None


def test_after_a_slow_claim_the_next_starts_behind_it():
    cursor = Cursor()
    cursor.note(("mail", 0, 7), 0.5, work=1, from_head=True)
    assert cursor.after("mail") == (0, 7)
    cursor.note(("mail", 0, 9), 0.001, work=1, from_head=False)
    assert cursor.after("mail") == (0, 9)


def test_the_cursor_of_one_queue_says_nothing_of_another():
    cursor = Cursor()
    cursor.note(("mail", 0, 7), 0.5, work=1, from_head=True)
    assert cursor.after("images") is None


def test_the_head_is_looked_at_again(monkeypatch):
    monkeypatch.setattr("django_jobqueue.workers.cursor._SHORTEST", 0.0)
    monkeypatch.setattr("django_jobqueue.workers.cursor._SHARE", 0)
    cursor = Cursor()
    cursor.note(("mail", 0, 7), 0.5, work=1, from_head=True)
    assert cursor.after("mail") is None


def test_jobs_that_came_back_end_it():
    cursor = Cursor()
    cursor.note(("mail", 0, 7), 0.5, work=1, from_head=True)
    cursor.forget()
    assert cursor.after("mail") is None


@pytest.mark.django_db(transaction=True)
def test_a_claim_behind_a_key_takes_no_more_than_its_limit_in_order():
    before, *behind = [Job.objects.enqueue("test.noop").pk for _ in range(5)]
    high = [Job.objects.enqueue("test.noop", priority="high").pk for _ in range(2)]
    assert claimed(1, None) == high[:1]
    first, second = claimed(3, (0, before)), claimed(10, (0, before))
    assert [*first, *second][:5] == [high[1], *behind[:2], *behind[2:]] or not vendor_for(connection).notifies
    assert {*first, *second} >= {high[1], *behind}
    assert len(first) == 3


if vendor_for(connection).notifies:  # the one database where old snapshots slow the head down

    @pytest.mark.django_db(transaction=True)
    def test_a_claim_behind_a_key_passes_over_what_is_before_it():
        before, last, behind = [Job.objects.enqueue("test.noop").pk for _ in range(3)]
        low = Job.objects.enqueue("test.noop", priority=-1).pk
        assert claimed(10, (0, last)) == [behind]
        assert claimed(10, None) == [before, last, low]

    @pytest.mark.django_db(transaction=True)
    def test_a_claim_behind_a_key_passes_over_what_another_claimer_has_locked():
        before, locked, free = [Job.objects.enqueue("test.noop").pk for _ in range(3)]
        high = Job.objects.enqueue("test.noop", priority="high").pk
        other = connection.copy()
        try:
            other.set_autocommit(False)
            with other.cursor() as cursor:
                cursor.execute(
                    f"SELECT id FROM {Job._meta.db_table} WHERE id IN (%s, %s) FOR NO KEY UPDATE",
                    [locked, high],
                )
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '5s'")  # without SKIP LOCKED the claim would wait for ever
            assert claimed(10, (0, before)) == [free]
        finally:
            other.close()
            connection.close()

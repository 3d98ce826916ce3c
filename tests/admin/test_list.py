import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_jobqueue.models import Job
from django_jobqueue.vendors import Now

TABLE = Job._meta.db_table


def fill(jobs, count):
    """At least ``count`` jobs, by doubling."""
    jobs.enqueue("test.noop", {"secret": "payload"})
    columns = ", ".join(
        field.column for field in Job._meta.concrete_fields if field.column not in ("id", "idempotency_key")
    )
    with connection.cursor() as cursor:
        for _ in range((count - 1).bit_length()):
            cursor.execute(f"INSERT INTO {TABLE} ({columns}) SELECT {columns} FROM {TABLE}")


def statements(queries):
    return [query["sql"] for query in queries if TABLE in query["sql"]]


def claimed(jobs, type="test.noop", **options):
    jobs.enqueue(type, **options)
    return jobs.claim(worker_id="worker-1")


def test_the_list_shows_what_an_operator_needs_of_each_job(jobs, chief):
    jobs.enqueue("test.noop", queue="mail", priority="high", max_retries=7, idempotency_key="invoice-42-send")
    page = chief.list().content.decode()
    for shown in ("test.noop", "mail", "high", "0/7", "invoice-42-send", "jobqueue-pending", "waiting 0 s"):
        assert shown in page


def test_a_scheduled_job_shows_when_it_will_run(jobs, chief):
    job = jobs.enqueue("test.noop")
    jobs.filter(pk=job.pk).update(status="scheduled", run_at=Now(5 * 60 + 30))
    assert "in 5 min" in chief.list().content.decode()


def test_a_scheduled_job_whose_time_has_come_shows_as_due(jobs, chief):
    job = jobs.enqueue("test.noop")
    jobs.filter(pk=job.pk).update(status="scheduled", run_at=Now(-125))
    assert "due 2 min ago" in chief.list().content.decode()


def test_a_running_job_shows_its_worker_and_its_age(jobs, chief):
    job = claimed(jobs)
    jobs.filter(pk=job.pk).update(claimed_at=Now(-185))
    page = chief.list().content.decode()
    assert "worker-1" in page
    assert "running 3 min" in page
    assert "jobqueue-running" in page


def test_a_running_job_whose_lease_ran_out_shows_as_stale(jobs, chief):
    job = claimed(jobs)
    jobs.filter(pk=job.pk).update(lease_expires_at=Now(-65))
    page = chief.list().content.decode()
    assert '<span class="jobqueue-badge jobqueue-stale">stale</span>' in page
    assert "stale for 1 min" in page


def test_a_running_job_that_is_asked_to_cancel_says_so(jobs, chief):
    jobs.cancel(claimed(jobs).pk)
    assert "cancel asked" in chief.list().content.decode()


def test_a_finished_job_shows_how_long_ago_it_ended(jobs, chief):
    job = jobs.cancel(jobs.enqueue("test.noop").pk)
    jobs.filter(pk=job.pk).update(finished_at=Now(-2 * 3600 - 5))
    assert "2 h ago" in chief.list().content.decode()


def test_a_priority_between_two_labels_shows_the_lower_one_and_the_number(jobs, chief):
    jobs.enqueue("test.noop", priority=14)
    assert "medium (14)" in chief.list().content.decode()


def test_the_newest_job_comes_first(jobs, chief):
    first, second = jobs.enqueue("test.noop"), jobs.enqueue("test.noop")
    assert chief.ids() == [second.pk, first.pk]


def test_no_column_without_an_index_can_be_sorted_by(jobs, chief):
    jobs.enqueue("test.noop")
    with CaptureQueriesContext(connection) as queries:
        chief.list(o="2.3.4.5.6.7")
    orders = re.findall(r"ORDER BY (.*?) LIMIT|ORDER BY (.*?)$", "\n".join(statements(queries)), re.M)
    assert orders
    assert all(re.fullmatch(r"\S*\bid\W? DESC", one or other) for one, other in orders)


def test_the_number_of_queries_does_not_grow_with_the_rows(jobs, chief):
    jobs.enqueue("test.noop")
    with CaptureQueriesContext(connection) as few:
        chief.list()
    jobs.enqueue_many([{"type": "test.noop"}] * 60)
    with CaptureQueriesContext(connection) as many:
        chief.list()
    assert len(many) == len(few)


def test_a_large_table_is_neither_counted_nor_read_beyond_a_bound(jobs, chief):
    fill(jobs, 20_000)
    with CaptureQueriesContext(connection) as queries:
        page = chief.list().content.decode()
    assert "10,000+ jobs" in page
    asked = statements(queries)
    assert len(asked) == 2  # the count and the page
    for sql in asked:
        assert "LIMIT" in sql
        assert "DISTINCT" not in sql
        assert (
            re.match(r"SELECT COUNT\(\*\) FROM \(SELECT .* LIMIT 10001\) subquery$", sql)
            or "COUNT" not in sql
        )


@pytest.mark.parametrize(
    "query", [{"status": "pending"}, {"queue": "default"}, {"q": "a"}, {"_facets": "True"}]
)
def test_filters_and_search_leave_the_bound_in_place(jobs, chief, query):
    jobs.enqueue("test.noop")
    with CaptureQueriesContext(connection) as queries:
        chief.list(**query)
    assert [sql for sql in statements(queries) if "COUNT" in sql and "LIMIT 10001" not in sql] == []
    assert [sql for sql in statements(queries) if "DISTINCT" in sql] == []


def test_payloads_are_not_loaded_for_the_list(jobs, chief):
    jobs.enqueue("test.noop")
    with CaptureQueriesContext(connection) as queries:
        chief.list()
    for column in ("payload", "result", "progress", "meta", "error"):
        assert not re.search(rf"\b{column}\b", "\n".join(statements(queries)))


def test_pages_beyond_the_bound_send_back_to_the_list(jobs, chief):
    jobs.enqueue_many([{"type": "test.noop"}] * 101)
    assert chief.list(p=2).status_code == 200
    assert chief.list(p=3).status_code == 302


def test_one_job_is_counted_in_the_singular(jobs, chief):
    jobs.enqueue("test.noop")
    assert re.search(r"\s1 job\s", chief.list().content.decode())

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.settings import api_settings

from django_jobqueue.models import Job
from tests.api.conftest import TYPE


def ids(response):
    assert response.status_code == 200, response.content
    return [job["id"] for job in response.json()["results"]]


def walk(client, path, *, between=lambda: None):
    """The ids of all pages from ``path`` on, doing something between two pages."""
    found = []
    while path:
        page = client.get(path)
        found += ids(page)
        path = page.json()["next"]
        between()
    return found


def test_the_newest_job_comes_first(operator):
    jobs = [Job.objects.enqueue(TYPE).pk for _ in range(3)]
    response = operator.get("/jobs")
    assert list(response.json()) == ["next", "previous", "results"]
    assert ids(response) == jobs[::-1]


def test_pages_are_complete_and_free_of_repeats_while_jobs_come_change_and_go(operator):
    jobs = [Job.objects.enqueue(TYPE, priority=-index).pk for index in range(25)]

    def disturb():
        Job.objects.enqueue(TYPE, priority=1)
        Job.objects.claim(worker_id="w")
        Job.objects.filter(pk=jobs[-1]).delete()

    assert walk(operator, "/jobs?page_size=4", between=disturb) == jobs[::-1]


def test_previous_leads_back(operator):
    jobs = [Job.objects.enqueue(TYPE).pk for _ in range(5)][::-1]
    second = operator.get(operator.get("/jobs?page_size=2").json()["next"])
    assert ids(second) == jobs[2:4]
    assert ids(operator.get(second.json()["previous"])) == jobs[:2]


def test_a_page_has_50_jobs_unless_asked_otherwise(operator):
    Job.objects.enqueue_many([{"type": TYPE}] * 51)
    assert len(ids(operator.get("/jobs"))) == 50
    assert len(ids(operator.get("/jobs?page_size=51"))) == 51


def test_filters(operator):
    plain = Job.objects.enqueue(TYPE).pk
    other = Job.objects.enqueue("test.noop", queue="mail", idempotency_key="k").pk
    running = Job.objects.enqueue(TYPE, priority=100).pk
    Job.objects.claim(worker_id="w-7")
    assert ids(operator.get("/jobs?status=running")) == [running]
    assert ids(operator.get("/jobs?status=pending&type=test.noop")) == [other]
    assert ids(operator.get("/jobs?queue=default")) == [running, plain]
    assert ids(operator.get("/jobs?worker_id=w-7")) == [running]
    assert ids(operator.get("/jobs?idempotency_key=k")) == [other]
    assert ids(operator.get("/jobs?idempotency_key=K")) == []


def test_a_repeated_filter_means_any_of_its_values(operator):
    jobs = [Job.objects.enqueue(TYPE, queue=queue).pk for queue in ("a", "b", "c")]
    assert ids(operator.get("/jobs?queue=a&queue=c")) == [jobs[2], jobs[0]]


def test_a_priority_label_means_all_priorities_shown_with_it(operator):
    by_value = {
        value: Job.objects.enqueue(TYPE, priority=value).pk for value in (-100, 0, 9, 10, 20, 29, 30, 100)
    }

    def values(query):
        found = ids(operator.get(f"/jobs?priority={query}"))
        return sorted(value for value, pk in by_value.items() if pk in found)

    assert values("low") == [-100, 0, 9]
    assert values("medium") == [10]
    assert values("high") == [20, 29]
    assert values("critical") == [30, 100]
    assert values("29") == [29]
    assert values("-100") == [-100]


def test_a_range_of_creation(operator):
    job = Job.objects.enqueue(TYPE)
    at, moment = Job.objects.get().created_at, timedelta(milliseconds=1)

    def between(start, end):
        return ids(operator.get("/jobs?" + urlencode({"created_after": start, "created_before": end})))

    assert between((at - moment).isoformat(), (at + moment).isoformat()) == [job.pk]
    assert between((at + moment).isoformat(), "2199-01-01") == []
    assert between("1970-01-01", (at - moment).isoformat()) == []


def test_filters_stay_in_the_links(operator):
    wanted = [Job.objects.enqueue(TYPE, queue="a b").pk for _ in range(3)][::-1]
    Job.objects.enqueue(TYPE)
    assert walk(operator, f"/jobs?page_size=1&queue={quote('a b')}") == wanted


BAD = {
    "status": ("status=done", "status"),
    "blank status": ("status=", "status"),
    "one of two statuses": ("status=failed&status=done", "status"),
    "priority": ("priority=urgent", "priority"),
    "priority out of range": ("priority=101", "priority"),
    "huge priority": ("priority=" + "9" * 5000, "priority"),
    "NUL in a text": ("queue=%00", "queue"),
    "blank text": ("idempotency_key=", "idempotency_key"),
    "long text": ("type=" + "x" * 201, "type"),
    "too many values": ("&".join(["queue=q"] * 101), "queue"),
    "no time": ("created_after=yesterday", "created_after"),
    "time out of range": ("created_before=9999-12-31T23:59:59-14:00", "created_before"),
    "time with NUL": ("created_before=2026-05-01%00", "created_before"),
    "page of 0": ("page_size=0", "page_size"),
    "page of 201": ("page_size=201", "page_size"),
    "page of x": ("page_size=x", "page_size"),
    "huge page": ("page_size=" + "9" * 5000, "page_size"),
    "cursor": ("cursor=zzz", "cursor"),
    "cursor with a text position": ("cursor=cD1hYmM=", "cursor"),
    "cursor with a huge position": ("cursor=cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "cursor"),
    "cursor with NUL": ("cursor=%00", "cursor"),
    "cursor that is no ASCII": ("cursor=%C3%A4", "cursor"),
    "misspelt filter": ("stauts=failed", "stauts"),
}


@pytest.mark.parametrize(("query", "field"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_naming_the_parameter(operator, query, field):
    response = operator.get(f"/jobs?{query}")
    assert (response.status_code, list(response.json())) == (400, [field])


def test_a_query_that_is_not_utf8_is_refused(operator):
    for query in ("queue=%ED%A0%80", "queue=%FF", "%C3"):
        response = operator.get(f"/jobs?{query}")
        assert (response.status_code, response.json()) == (400, {"detail": "The query string is not UTF-8."})


def test_a_misspelt_filter_is_told_what_was_meant(operator):
    assert operator.get("/jobs?stauts=failed").json() == {"stauts": ["is unknown here. Did you mean status?"]}


def test_payloads_that_may_not_be_read_are_not_loaded(caller):
    Job.objects.enqueue(TYPE, {"secret": 1}, enqueued_by="somebody")
    viewer = caller("viewer", "view_job")
    with CaptureQueriesContext(connection) as queries:
        assert viewer.get("/jobs").json()["results"][0]["payload"] is None
    assert not [query for query in queries if "payload" in query["sql"]]


def test_a_list_takes_one_query_more_for_the_callers_own_payloads(caller):
    Job.objects.enqueue_many([{"type": TYPE, "payload": {"n": n}} for n in range(5)], enqueued_by="viewer")
    Job.objects.enqueue(TYPE, {"secret": 1}, enqueued_by="somebody")
    viewer = caller("viewer", "view_job")
    with CaptureQueriesContext(connection) as queries:
        results = viewer.get("/jobs").json()["results"]
    assert [job["payload"] for job in results] == [None, *({"n": n} for n in (4, 3, 2, 1, 0))]
    assert len([query for query in queries if Job._meta.db_table in query["sql"]]) == 2


def test_times_are_utc_whatever_the_time_zone_of_the_project(operator, settings):
    settings.TIME_ZONE = "Asia/Tokyo"
    Job.objects.enqueue(TYPE, run_at=datetime(2199, 1, 1, tzinfo=UTC))
    shown = operator.get("/jobs").json()["results"][0]
    assert shown["run_at"] == "2199-01-01T00:00:00.000000Z"
    assert shown["created_at"].endswith("Z")


@pytest.mark.parametrize("name", ["type", "queue", "format", None])
def test_the_filters_mean_what_they_say_whatever_the_project_calls_its_format_parameter(
    operator, name, monkeypatch
):
    monkeypatch.setattr(api_settings, "URL_FORMAT_OVERRIDE", name)
    wanted = Job.objects.enqueue(TYPE, queue="mail").pk
    Job.objects.enqueue("test.effect", queue="mail")
    Job.objects.enqueue(TYPE, queue="other")
    response = operator.get(f"/jobs?type={TYPE}&queue=mail")
    assert (response.status_code, ids(response)) == (200, [wanted])


def test_the_format_parameter_of_the_project_still_works(operator, monkeypatch):
    monkeypatch.setattr(api_settings, "URL_FORMAT_OVERRIDE", "as")
    assert operator.get("/jobs?as=json").status_code == 200
    assert operator.get("/jobs?as=xml").status_code == 404

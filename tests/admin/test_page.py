import sys

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from django_jobqueue.jobs.new_job import TASK
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.models import Job
from django_jobqueue.vendors import Now


def attempt(jobs, job, message="boom", traceback="Traceback: deep in the shop", retryable=True):
    claimed = jobs.claim(worker_id="worker-1", queues=[job.queue])
    failure = Failure(
        error=message, exception_class="shop.OutOfTea", traceback=traceback, retryable=retryable
    )
    return jobs.retry_or_fail(claimed.pk, failure, fencing_token=claimed.fencing_token)


def test_json_is_shown_indented_with_its_own_letters(jobs, chief):
    job = jobs.enqueue("test.noop", {"name": "Größe", "lines": [1, 2]}, meta={"trace": "abc"})
    page = chief.page(job).content.decode()
    assert "{\n  &quot;name&quot;: &quot;Größe&quot;,\n  &quot;lines&quot;: [\n    1," in page
    assert "&quot;trace&quot;: &quot;abc&quot;" in page


def test_result_and_progress_are_shown(jobs, chief):
    job = jobs.enqueue("test.noop")
    jobs.claim(worker_id="worker-1")
    jobs.heartbeat(job.pk, progress={"rows": 5})
    jobs.complete(job.pk, result={"files": 3})
    shown = {entry.label: entry.text for entry in chief.page(job).context["data"]}
    assert shown == {"payload": "{}", "result": '{\n  "files": 3\n}', "progress": '{\n  "rows": 5\n}'}


def test_failed_attempts_are_shown_with_their_tracebacks_the_latest_first(jobs, chief):
    job = jobs.enqueue("test.noop")
    attempt(jobs, job, "first reason")
    attempt(jobs, job, "second reason")
    response = chief.page(job)
    page = response.content.decode()
    assert [one.number for one in response.context["attempts"]] == [2, 1]
    for shown in (
        "first reason",
        "second reason",
        "Traceback: deep in the shop",
        "shop.OutOfTea",
        "worker-1",
    ):
        assert shown in page


def test_only_the_latest_attempts_are_loaded(jobs, chief, monkeypatch):
    monkeypatch.setattr("django_jobqueue.admin.page.ATTEMPTS", 2)
    job = jobs.enqueue("test.noop")
    for number in range(3):
        attempt(jobs, job, f"reason {number}")
    page = chief.page(job).content.decode()
    assert "the latest 2" in page
    assert "reason 1" in page
    assert "reason 0" not in page


def test_without_the_permission_nothing_of_the_content_is_shown(jobs, browser):
    job = jobs.enqueue(
        "test.noop", {"card": "SECRET-1"}, meta={"m": "SECRET-2"}, idempotency_key="public-key"
    )
    claimed = jobs.claim(worker_id="worker-1")
    jobs.heartbeat(claimed.pk, progress={"p": "SECRET-3"})
    jobs.retry_or_fail(
        claimed.pk, Failure(error="SECRET-4", exception_class="ValueError", traceback="SECRET-5")
    )
    claimed = jobs.claim(worker_id="worker-1")
    jobs.complete(claimed.pk, result={"r": "SECRET-6"})
    page = browser("view_job").page(job).content.decode()
    assert "SECRET" not in page
    assert page.count("Hidden: needs the permission") == 5  # payload, result, progress, meta, attempt
    for shown in ("public-key", "ValueError", "worker-1"):
        assert shown in page


def test_with_the_permission_all_of_the_content_is_shown(jobs, browser):
    job = jobs.enqueue("test.noop", {"card": "SECRET-1"})
    attempt(jobs, job, "SECRET-2", "SECRET-3")
    page = browser("view_job", "view_job_payload").page(job).content.decode()
    for shown in ("SECRET-1", "SECRET-2", "SECRET-3"):
        assert shown in page
    assert "Hidden" not in page


def test_the_text_of_attempts_is_not_even_loaded_without_the_permission(jobs, browser):
    job = jobs.enqueue("test.noop")
    attempt(jobs, job)
    operator = browser("view_job")
    with CaptureQueriesContext(connection) as queries:
        operator.page(job)
    (sql,) = [query["sql"] for query in queries if "jobattempt" in query["sql"]]
    assert "traceback" not in sql


def test_times_are_exact_and_relative(jobs, chief):
    job = jobs.enqueue("test.noop")
    jobs.filter(pk=job.pk).update(created_at=Now(-3700))
    created = chief.page(job).context["times"][0]
    assert (created.label, created.note) == ("created", "1 h ago")
    assert created.text == f"{jobs.get(pk=job.pk).created_at:%Y-%m-%d %H:%M:%S} UTC"


def test_a_pending_job_says_what_is_ahead_of_it_and_whether_its_queue_moves(jobs, chief):
    jobs.enqueue("test.noop", queue="mail", priority="high")
    jobs.enqueue("test.noop", queue="mail")
    jobs.enqueue("test.noop", queue="other", priority="high")
    job = jobs.enqueue("test.noop", queue="mail")
    jobs.enqueue("test.noop", queue="mail")
    assert "2 jobs are ahead of it. No jobs of the queue are running." in chief.page(job).content.decode()
    jobs.claim(worker_id="worker-1", queues=["mail"])
    assert "1 job is ahead of it. 1 job of the queue is running." in chief.page(job).content.decode()


@pytest.mark.parametrize("object_id", ["0", "999999999", str(2**63), "9" * 40, "abc", "1.5", "%00"])
def test_a_page_of_a_job_that_does_not_exist_leads_away(chief, object_id):
    response = chief.client.get(reverse("admin:django_jobqueue_job_changelist") + f"{object_id}/change/")
    assert response.status_code == 302


def test_a_page_of_a_job_without_a_handler_opens(jobs, chief):
    job = jobs.enqueue("removed-long-ago")
    page = chief.page(job)
    assert page.status_code == 200
    assert "This project has no handler for “removed-long-ago”" in page.content.decode()


def test_the_largest_of_everything_opens(jobs, chief):
    deep = "leaf"
    for _ in range(29):
        deep = [deep]
    job = jobs.enqueue(
        "t" * 200,
        {"text": "ü" * 30_000, "deep": deep},
        queue="q" * 64,
        idempotency_key="k" * 255,
        meta={"m": "x" * 8000},
    )
    attempt(jobs, job, "e" * 10_000, "t" * 50_000)
    assert chief.page(job).status_code == 200
    assert chief.list().status_code == 200


def test_every_status_has_its_explanation(jobs, chief):
    job = jobs.enqueue("test.noop", max_retries=0)
    assert "Waiting for" in chief.page(job).context["explanation"]
    claimed = jobs.claim(worker_id="worker-1")
    assert "Held by worker-1" in chief.page(job).context["explanation"]
    jobs.fail(claimed.pk, error="boom")
    assert "Failed after no retries" in chief.page(job).context["explanation"]
    Job.objects.retry(job.pk)
    jobs.cancel(job.pk)
    assert "Cancelled." in chief.page(job).context["explanation"]


@pytest.mark.parametrize("own", [True, False])
def test_who_enqueued_a_job_reads_all_of_it_as_over_http(jobs, browser, own):
    job = jobs.enqueue("test.noop", {"a": "secret-1"}, enqueued_by="operator" if own else "shop")
    page = browser("view_job").page(job).content.decode()
    assert ("secret-1" in page) is own


def test_a_page_imports_no_module_of_a_task(jobs, chief, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "raising_page_tasks.py").write_text("raise SystemExit(3)")
    job = jobs.enqueue("raising_page_tasks.work")
    jobs.filter(pk=job.pk).update(meta={TASK: {"backend": "default"}})
    assert chief.page(job).status_code == 200
    assert "raising_page_tasks" not in sys.modules

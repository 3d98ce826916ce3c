from datetime import timedelta

import pytest
from django.contrib import admin
from django.urls import reverse

from django_jobqueue.models import Job, JobAttempt
from tests.admin.conftest import LIST

VERBS = ("retry", "run_now", "cancel", "release")


def job_for(jobs, verb):
    """A job that ``verb`` applies to."""
    if verb == "run_now":
        return jobs.enqueue("test.noop", run_at=timedelta(hours=1))
    job = jobs.enqueue("test.noop")
    if verb == "cancel":
        return job
    job = jobs.claim(worker_id="worker-1")
    return jobs.fail(job.pk, error="boom", retryable=False) if verb == "retry" else job


def test_the_list_needs_the_permission_to_view(jobs, browser):
    assert browser("retry_job", "enqueue_job").list().status_code == 403


def test_a_page_needs_the_permission_to_view(jobs, browser):
    assert browser("manage_job").page(jobs.enqueue("test.noop")).status_code == 403


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("permission", ["own", "manage_job"])
def test_a_verb_is_allowed_by_its_own_permission_or_to_managers(jobs, browser, verb, permission):
    operator = browser("view_job", f"{verb}_job" if permission == "own" else permission)
    job = job_for(jobs, verb)
    before = job.updated_at
    operator.act(job, verb)
    assert jobs.get(pk=job.pk).updated_at > before


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_refused_without_its_permission(jobs, browser, verb):
    operator = browser("view_job", *(f"{other}_job" for other in VERBS if other != verb))
    job = job_for(jobs, verb)
    assert operator.act(job, verb).status_code == 403
    operator.act_on([job], verb)
    assert jobs.get(pk=job.pk).updated_at == job.updated_at


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_offers_only_the_actions_that_are_allowed(jobs, browser, verb):
    jobs.enqueue("test.noop")
    form = browser("view_job", f"{verb}_job").list().context["action_form"]
    assert [value for value, _ in form.fields["action"].choices if value] == [verb]


def test_a_page_offers_only_the_buttons_that_are_allowed(jobs, browser):
    job = job_for(jobs, "release")
    assert [verb.name for verb in browser("view_job", "release_job").page(job).context["verbs"]] == [
        "release"
    ]


def test_a_viewer_has_no_actions(jobs, browser):
    jobs.enqueue("test.noop")
    assert browser("view_job").list().context["action_form"] is None


def test_acting_needs_the_permission_to_view(jobs, browser):
    job = jobs.enqueue("test.noop")
    assert browser("cancel_job").act(job, "cancel").status_code == 403
    assert jobs.get(pk=job.pk).status == "pending"


def test_acting_needs_a_token_against_forged_requests(jobs, chief):
    job = jobs.enqueue("test.noop")
    chief.client.handler.enforce_csrf_checks = True
    assert chief.act(job, "cancel").status_code == 403
    assert jobs.get(pk=job.pk).status == "pending"


def test_enqueueing_needs_its_own_permission(browser):
    client = browser("view_job", "add_job", "change_job", "manage_job").client
    assert client.get(reverse("admin:django_jobqueue_job_add")).status_code == 403


def test_nobody_changes_a_job_by_a_form(jobs, chief):
    job = jobs.enqueue("test.noop")
    url = reverse("admin:django_jobqueue_job_change", args=[job.pk])
    assert chief.client.post(url, {"status": "completed"}).status_code == 403
    assert jobs.get(pk=job.pk).status == "pending"


def test_nobody_deletes_a_job(jobs, chief):
    job = jobs.enqueue("test.noop")
    assert chief.client.post(reverse("admin:django_jobqueue_job_delete", args=[job.pk])).status_code == 403
    chief.client.post(reverse(LIST), {"action": "delete_selected", "_selected_action": [job.pk]})
    assert jobs.filter(pk=job.pk).exists()


def test_attempts_have_no_list_of_their_own():
    assert admin.site.is_registered(Job)
    assert not admin.site.is_registered(JobAttempt)

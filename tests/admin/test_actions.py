from datetime import timedelta

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.urls import reverse

from django_jobqueue.admin.verbs import VERBS
from django_jobqueue.exceptions import JobNotFound
from django_jobqueue.models import Job
from tests.admin.conftest import LIST, told


def waiting(jobs, count=1):
    return [jobs.enqueue("test.noop") for _ in range(count)]


def running(jobs, **options):
    job = jobs.enqueue("test.noop", **options)
    return jobs.claim(worker_id="worker-1", queues=[job.queue])


def failed(jobs):
    return jobs.fail(running(jobs).pk, error="boom", retryable=False)


def statuses(jobs, *those):
    return [jobs.get(pk=job.pk).status for job in those]


def test_retry_runs_failed_jobs_again_and_skips_the_others(jobs, chief):
    chosen = [failed(jobs), failed(jobs), running(jobs)]
    response = chief.act_on(chosen, "retry")
    assert told(response) == ["2 retried, 1 skipped (running)."]
    assert statuses(jobs, *chosen) == ["pending", "pending", "running"]


def test_skipped_jobs_are_told_apart_by_their_status(jobs, chief):
    chosen = [failed(jobs), running(jobs), running(jobs), *waiting(jobs)]
    assert told(chief.act_on(chosen, "retry")) == ["1 retried, 3 skipped (1 pending, 2 running)."]


def test_cancel_ends_waiting_jobs_and_asks_running_ones(jobs, chief):
    chosen = [running(jobs), *waiting(jobs, 2)]
    response = chief.act_on(chosen, "cancel")
    assert told(response) == ["2 cancelled, 1 asked to cancel (running)."]
    assert statuses(jobs, *chosen) == ["running", "cancelled", "cancelled"]
    assert jobs.get(pk=chosen[0].pk).cancel_requested_at is not None


def test_cancelling_a_cancelled_job_skips_it(jobs, chief):
    job = jobs.cancel(jobs.enqueue("test.noop").pk)
    assert told(chief.act_on([job], "cancel")) == ["0 cancelled, 1 skipped (cancelled)."]


def test_run_now_makes_scheduled_jobs_pending(jobs, chief):
    chosen = [jobs.enqueue("test.noop", run_at=timedelta(hours=1)), *waiting(jobs)]
    assert told(chief.act_on(chosen, "run_now")) == ["1 made pending, 1 skipped (pending)."]
    assert statuses(jobs, *chosen) == ["pending", "pending"]


def test_a_release_of_a_job_whose_cancel_was_requested_says_cancelled(jobs, chief):
    asked, single, other = running(jobs), running(jobs), running(jobs)
    jobs.cancel(asked.pk)
    jobs.cancel(single.pk)
    (message,) = told(chief.act_on([asked, other], "release"))
    assert message.startswith("1 released, 1 cancelled (as requested before).")
    assert jobs.get(pk=asked.pk).status == "cancelled"
    message = told(chief.act(jobs.get(pk=single.pk), "release"))[-1]
    assert message == f"Job {single.pk} was cancelled, as requested before."
    assert LogEntry.objects.get(object_id=str(single.pk)).change_message.find("Cancelled") >= 0


def test_release_gives_running_jobs_back_without_counting_a_retry(jobs, chief):
    job = running(jobs)
    (message,) = told(chief.act_on([job], "release"))
    assert message.startswith("1 released.")
    after = jobs.get(pk=job.pk)
    assert (after.status, after.retry_count, after.worker_id) == ("pending", 0, "")


def test_a_job_that_was_pruned_meanwhile_is_skipped(jobs, chief, monkeypatch):
    job = failed(jobs)

    def gone(manager, job_id):
        raise JobNotFound(job_id)

    monkeypatch.setattr(type(jobs), "retry", gone)
    assert told(chief.act_on([job], "retry")) == ["0 retried, 1 skipped (gone)."]


def test_what_a_worker_wrote_after_the_list_was_shown_stays(jobs, chief):
    job = running(jobs)
    assert chief.ids() == [job.pk]
    jobs.complete(job.pk, fencing_token=job.fencing_token, result={"sent": 1})
    before = jobs.get(pk=job.pk)
    response = chief.act_on([job], "release")
    assert told(response) == ["0 released, 1 skipped (completed)."]
    after = jobs.get(pk=job.pk)
    assert (after.status, after.result) == ("completed", {"sent": 1})
    assert after.updated_at == before.updated_at


def test_a_job_that_was_claimed_again_after_its_page_was_shown_is_not_released(jobs, chief):
    shown = running(jobs)
    jobs.release(shown.pk)
    claimed_again = jobs.claim(worker_id="worker-2")
    response = chief.act(shown, "release")
    assert told(response) == [f"Job {shown.pk} was skipped (claimed again meanwhile)."]
    after = jobs.get(pk=shown.pk)
    assert (after.status, after.worker_id) == ("running", "worker-2")
    assert after.fencing_token == claimed_again.fencing_token


@pytest.mark.parametrize(
    ("prepare", "verb", "message"),
    [
        (failed, "retry", "Job {} was retried."),
        (running, "cancel", "Job {} was asked to cancel."),
        (running, "retry", "Job {} was skipped (running)."),
    ],
)
def test_a_button_tells_what_became_of_its_job(jobs, chief, prepare, verb, message):
    job = prepare(jobs)
    assert told(chief.act(job, verb)) == [message.format(job.pk)]


def test_each_change_is_logged_with_who_did_what(jobs, browser):
    operator = browser("view_job", "retry_job", "cancel_job")
    job, skipped = failed(jobs), running(jobs)
    operator.act_on([job, skipped], "retry")
    operator.act(jobs.get(pk=job.pk), "cancel")
    entries = LogEntry.objects.order_by("id").values_list("user__username", "object_id", "change_message")
    assert list(entries) == [("operator", str(job.pk), "Retried."), ("operator", str(job.pk), "Cancelled.")]
    assert set(LogEntry.objects.values_list("action_flag", flat=True)) == {CHANGE}


def test_what_was_done_to_a_job_is_in_its_history(jobs, chief):
    job = failed(jobs)
    chief.act(job, "retry")
    history = chief.client.get(reverse("admin:django_jobqueue_job_history", args=[job.pk]))
    assert "Retried." in history.content.decode()


def test_all_jobs_of_a_filter_can_be_chosen_at_once(jobs, chief):
    those = [failed(jobs), failed(jobs)]
    other = running(jobs)
    response = chief.client.post(
        reverse(LIST) + "?status=failed",
        {"action": "retry", "select_across": "1", "_selected_action": [those[0].pk]},
    )
    assert told(response) == ["2 retried."]
    assert statuses(jobs, *those, other) == ["pending", "pending", "running"]


def test_more_jobs_than_one_request_can_do_are_done_in_steps(jobs, chief, monkeypatch):
    monkeypatch.setattr("django_jobqueue.admin.jobs.LIMIT", 2)
    jobs.cancel(jobs.enqueue("test.noop").pk)
    those = waiting(jobs, 3)
    first = chief.act_on(those, "cancel", select_across="1")
    assert told(first) == ["2 cancelled. Only 2 jobs were taken; run the action again for more."]
    second = chief.act_on(those, "cancel", select_across="1")
    assert told(second)[-1] == "1 cancelled."
    assert statuses(jobs, *those) == ["cancelled"] * 3


@pytest.mark.parametrize("selected", ["abc", "-1", str(2**63), "1 OR 1=1", "\0"])
def test_a_selection_that_is_no_job_is_refused(jobs, chief, selected):
    response = chief.client.post(reverse(LIST), {"action": "cancel", "_selected_action": [selected]})
    assert told(response) == ["What was selected is not a job."]


@pytest.mark.parametrize(
    "data", [{}, {"verb": "claim"}, {"verb": "cancel"}, {"verb": "cancel", "fencing_token": "x"}]
)
def test_a_button_that_does_not_exist_is_refused(jobs, chief, data):
    url = reverse("admin:django_jobqueue_job_act", args=[jobs.enqueue("test.noop").pk])
    assert chief.client.post(url, data).status_code == 400


def test_looking_at_the_address_of_a_button_changes_nothing(jobs, chief):
    job = jobs.enqueue("test.noop")
    response = chief.client.get(reverse("admin:django_jobqueue_job_act", args=[job.pk]), {"verb": "cancel"})
    assert response.status_code == 400
    assert statuses(jobs, job) == ["pending"]


@pytest.mark.parametrize("job_id", [999_999_999, 2**63, 10**30])
def test_a_button_of_a_job_that_is_gone_leads_back_to_the_list(chief, job_id):
    url = reverse("admin:django_jobqueue_job_act", args=[job_id])
    response = chief.client.post(url, {"verb": "cancel", "fencing_token": "0"})
    assert response.status_code == 302
    assert told(response) == [f"There is no job {job_id}; it may have been pruned."]


def test_a_page_has_only_the_buttons_that_apply(jobs, chief):
    job = failed(jobs)
    assert [verb.name for verb in chief.page(job).context["verbs"]] == ["retry"]
    assert [verb.name for verb in chief.page(running(jobs)).context["verbs"]] == ["cancel", "release"]


def test_every_verb_has_a_permission_of_its_own():
    codenames = {f"django_jobqueue.{codename}" for codename, _ in Job._meta.permissions}
    assert {name for verb in VERBS.values() for name in verb.permissions} <= codenames

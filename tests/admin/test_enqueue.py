from datetime import UTC, datetime

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.urls import reverse

from django_jobqueue import job_handler, registry
from django_jobqueue.models import Job
from tests.admin.conftest import told

ALL = ("enqueue_job", "view_job", "view_job_payload", "prioritize_job")


@pytest.fixture
def urgent():
    """A type whose handler has its own choices."""
    job_handler("test.urgent", queue="mail", priority="critical", max_retries=1)(lambda job: None)
    yield "test.urgent"
    registry.unregister("test.urgent")


def errors(response):
    return dict(response.context["adminform"].form.errors)


def test_a_job_is_enqueued_with_what_was_typed(browser):
    browser(*ALL).enqueue(
        type="test.noop",
        payload='{"order": 42}',
        queue="mail",
        priority="critical",
        max_retries="7",
        idempotency_key="invoice-42",
        run_at_0="2100-01-02",
        run_at_1="03:04:05",
        meta='{"trace": "abc"}',
    )
    job = Job.objects.get()
    assert (job.type, job.payload, job.queue, job.priority) == ("test.noop", {"order": 42}, "mail", 30)
    assert (job.max_retries, job.idempotency_key, job.meta) == (7, "invoice-42", {"trace": "abc"})
    assert (job.status, job.run_at) == ("scheduled", datetime(2100, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert job.enqueued_by == "operator"


def test_what_is_left_out_comes_from_the_handler(browser, urgent):
    browser(*ALL).enqueue(type=urgent)
    job = Job.objects.get()
    assert (job.payload, job.queue, job.priority, job.max_retries) == ({}, "mail", 30, 1)


def test_the_new_job_is_shown(browser):
    response = browser(*ALL).enqueue(type="test.noop")
    job = Job.objects.get()
    assert response.url == reverse("admin:django_jobqueue_job_change", args=[job.pk])
    assert told(response) == [f"Job {job.pk} was enqueued."]


def test_who_may_not_view_stays_at_the_form(browser):
    response = browser("enqueue_job").enqueue(type="test.noop")
    assert response.url == reverse("admin:django_jobqueue_job_add")
    assert Job.objects.count() == 1


def test_the_log_says_who_enqueued_it(browser):
    browser(*ALL).enqueue(type="test.noop")
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.action_flag) == ("operator", ADDITION)
    assert entry.object_id == str(Job.objects.get().pk)


def test_a_key_that_exists_already_is_told_and_adds_nothing(jobs, browser):
    job = jobs.enqueue("test.noop", idempotency_key="invoice-42")
    response = browser(*ALL).enqueue(type="test.noop", idempotency_key="invoice-42")
    url = reverse("admin:django_jobqueue_job_change", args=[job.pk])
    assert response.url == url
    assert told(response) == [f'Nothing was enqueued: <a href="{url}">job {job.pk}</a> has this key already.']
    assert Job.objects.count() == 1
    assert not LogEntry.objects.exists()


def test_a_key_of_a_different_job_says_what_differs(jobs, browser):
    jobs.enqueue("test.noop", {"order": 1}, idempotency_key="invoice-42")
    response = browser(*ALL).enqueue(type="test.noop", payload='{"order": 2}', idempotency_key="invoice-42")
    assert "with a different payload" in told(response)[0]


def test_a_key_of_a_different_job_is_an_error_where_the_project_wants_it(settings, jobs, browser):
    settings.JOBQUEUE = {"IDEMPOTENCY_MISMATCH": "reject"}
    jobs.enqueue("test.noop", {"order": 1}, idempotency_key="invoice-42")
    response = browser(*ALL).enqueue(type="test.noop", payload='{"order": 2}', idempotency_key="invoice-42")
    assert errors(response) == {
        "idempotency_key": ["A job with a different payload has this key; choose another."]
    }


def test_who_may_not_view_learns_nothing_of_the_job_that_has_the_key(jobs, browser):
    jobs.enqueue("test.echo", idempotency_key="invoice-42")
    found = errors(browser("enqueue_job").enqueue(type="test.noop", idempotency_key="invoice-42"))
    assert found == {
        "idempotency_key": ["Nothing was enqueued: another job has this key already. Choose another."]
    }


@pytest.mark.parametrize("mismatch", ["return", "reject"])
@pytest.mark.parametrize("codenames", [(), ("view_job",), ("manage_job", "view_job")])
def test_a_taken_key_tells_nothing_of_a_payload_that_the_user_may_not_see(
    jobs, settings, browser, mismatch, codenames
):
    settings.JOBQUEUE = {"IDEMPOTENCY_MISMATCH": mismatch}
    jobs.enqueue("test.echo", {"secret": 1}, idempotency_key="k")
    prober = browser("enqueue_job", *codenames)
    answers = [
        prober.enqueue(type="test.echo", idempotency_key="k", payload=f'{{"secret": {secret}}}')
        for secret in (1, 2)
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert errors(answers[0]) == errors(answers[1])
    assert list(errors(answers[0])) == ["idempotency_key"]
    assert Job.objects.count() == 1


@pytest.mark.parametrize("type", ["jobqueue.webhook", "jobqueue.message"])
def test_what_is_signed_or_sent_in_the_projects_name_cannot_be_enqueued_unless_it_is_listed(
    settings, browser, type
):
    user = browser(*ALL)
    payload = '{"url": "https://shop.example/hook", "data": {}}'
    assert list(errors(user.enqueue(type=type, payload=payload))) == ["type"]
    assert not Job.objects.exists()
    form = user.client.get(reverse("admin:django_jobqueue_job_add")).content.decode()
    assert f'<option value="{type}">' not in form
    settings.JOBQUEUE = {"EXTERNAL_JOB_TYPES": [type]}
    user.enqueue(type=type, payload=payload)
    assert Job.objects.get().type == type


def test_a_type_that_nobody_knows_is_refused(browser):
    response = browser(*ALL).enqueue(type="no-such-type")
    assert list(errors(response)) == ["type"]
    assert not Job.objects.exists()


def test_an_external_type_is_accepted(settings, browser):
    settings.JOBQUEUE = {"EXTERNAL_JOB_TYPES": ["resize-video"]}
    browser(*ALL).enqueue(type="resize-video")
    assert Job.objects.get().type == "resize-video"


def test_the_form_suggests_the_types_that_can_be_enqueued(settings, browser):
    settings.JOBQUEUE = {"EXTERNAL_JOB_TYPES": ["resize-video"]}
    page = browser(*ALL).client.get(reverse("admin:django_jobqueue_job_add")).content.decode()
    assert '<option value="test.noop">' in page
    assert '<option value="resize-video">' in page


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("payload", "{not json"),
        ("payload", "[1]"),
        ("payload", "null"),
        ("payload", '{"a": NaN}'),
        ("payload", '{"a": Infinity}'),
        ("payload", '{"a": 1e999}'),
        ("payload", '{"a": 18446744073709551616}'),
        ("payload", '{"a": ' + "9" * 5000 + "}"),
        ("payload", '{"a": "\\u0000"}'),
        ("payload", '{"a": "\\ud800"}'),
        ("payload", '{"a": ' + "[" * 40 + "]" * 40 + "}"),
        ("payload", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"),
        ("payload", '{"a": "' + "x" * 70_000 + '"}'),
        ("queue", "q" * 65),
        ("queue", "a\0b"),
        ("max_retries", "-1"),
        ("max_retries", "1001"),
        ("max_retries", "many"),
        ("idempotency_key", "   "),
        ("idempotency_key", "k" * 256),
        ("idempotency_key", "a\0b"),
        ("priority", "urgent"),
        ("run_at_0", "2300-01-01"),
        ("run_at_0", "1969-12-31"),
        ("run_at_0", "0001-01-01"),
        ("run_at_0", "9999-12-31"),
        ("run_at_0", "tomorrow"),
        ("meta", "[]"),
        ("meta", '{"_backoff": 1}'),
        ("type", ""),
        ("type", "t\0"),
    ],
)
def test_a_value_that_cannot_be_stored_is_an_error_at_its_field(browser, field, value):
    data = {"type": "test.noop", "run_at_1": "12:00:00" if field == "run_at_0" else "", field: value}
    response = browser(*ALL).enqueue(**data)
    assert list(errors(response)) == [field.removesuffix("_0")]
    assert not Job.objects.exists()


def test_an_error_inside_the_payload_says_where(browser):
    response = browser(*ALL).enqueue(type="test.noop", payload='{"lines": [{"price": NaN}]}')
    assert errors(response)["payload"] == ["payload.lines[0].price: nan is not JSON."]


@pytest.mark.parametrize("priority", ["high", "critical"])
def test_high_priorities_need_a_permission(browser, priority):
    response = browser("enqueue_job", "view_job").enqueue(type="test.noop", priority=priority)
    assert "priority" in errors(response)
    assert not Job.objects.exists()


def test_other_priorities_do_not(browser):
    browser("enqueue_job", "view_job").enqueue(type="test.noop", priority="medium")
    assert Job.objects.get().priority == 10


def test_the_priority_that_the_project_gave_a_handler_does_not_either(browser, urgent):
    browser("enqueue_job", "view_job").enqueue(type=urgent)
    assert Job.objects.get().priority == 30


def test_a_refused_form_keeps_what_was_typed(browser):
    page = browser(*ALL).enqueue(type="test.noop", payload='{"order": 42', queue="mail").content.decode()
    assert "{&quot;order&quot;: 42" in page
    assert 'value="mail"' in page

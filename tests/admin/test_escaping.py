import pytest
from django.urls import reverse

from django_jobqueue.jobs.retry_policy import Failure
from tests.admin.conftest import LIST

EVIL = "\"'><script>alert(1)</script>"


@pytest.fixture
def evil(jobs):
    """A job all of whose texts are hostile."""
    job = jobs.enqueue(
        EVIL,
        {EVIL: EVIL},
        queue=EVIL,
        idempotency_key=EVIL,
        meta={EVIL: EVIL},
        enqueued_by=EVIL,
    )
    claimed = jobs.claim(worker_id=EVIL, claimed_by=EVIL)
    jobs.heartbeat(job.pk, progress={EVIL: EVIL})
    failure = Failure(error=EVIL, exception_class=EVIL, traceback=EVIL)
    jobs.retry_or_fail(job.pk, failure, fencing_token=claimed.fencing_token)
    return jobs.claim(worker_id=EVIL, claimed_by=EVIL)


def assert_inert(response):
    page = response.content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_texts_are_inert_in_the_list(evil, chief):
    assert_inert(chief.list())


def test_texts_are_inert_on_the_page(evil, chief):
    assert_inert(chief.page(evil))


def test_a_result_is_inert_on_the_page(jobs, evil, chief):
    jobs.complete(evil.pk, result={EVIL: EVIL})
    assert_inert(chief.page(evil))


def test_texts_are_inert_in_messages_and_in_the_history(evil, chief):
    chief.act(evil, "cancel")
    assert_inert(chief.list())
    assert_inert(chief.client.get(reverse("admin:django_jobqueue_job_history", args=[evil.pk])))


def test_texts_are_inert_among_the_recent_actions(evil, chief):
    chief.act(evil, "cancel")
    chief.list()  # takes the message
    assert_inert(chief.client.get(reverse("admin:index")))


def test_the_message_about_a_taken_key_is_inert(settings, jobs, chief):
    settings.JOBQUEUE = {"EXTERNAL_JOB_TYPES": [EVIL]}
    jobs.enqueue(EVIL, idempotency_key="taken", queue="other")
    response = chief.enqueue(type=EVIL, idempotency_key="taken")
    assert_inert(chief.client.get(response.url))


def test_what_was_typed_is_inert(chief):
    assert_inert(chief.enqueue(type=EVIL, payload=EVIL, queue=EVIL, idempotency_key=EVIL, meta=EVIL))


@pytest.mark.parametrize("name", ["q", "queue", "type"])
def test_the_query_string_is_inert(chief, name):
    assert_inert(chief.client.get(reverse(LIST), {name: EVIL}))

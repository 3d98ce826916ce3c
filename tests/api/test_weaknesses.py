"""The ten weaknesses that the reference implementation of this protocol published of itself, each closed."""

from __future__ import annotations

import logging

import pytest
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.db import connection
from django.test import Client
from django.urls import path, reverse
from rest_framework.permissions import AllowAny
from rest_framework.test import APIClient

from django_jobqueue import registry
from django_jobqueue.api.claims import ClaimJob
from django_jobqueue.api.permissions import WorkJob
from django_jobqueue.api.urls import urlpatterns as protocol
from django_jobqueue.models import Job
from tests.api.conftest import TYPE, make_caller
from tests.api.live import at_once, post
from tests.api.test_permissions import CALLS

HOSTILE = "'; DROP TABLE django_jobqueue_job; -- \"`\\%_{}<script>alert(1)</script>\x1b[2J\r\nFAKE LINE\u202e"


# 1. No authentication


@pytest.mark.django_db
def test_weakness_1_no_call_answers_an_anonymous_caller():
    assert {APIClient().generic(*call).status_code for call in CALLS} == {401}


def test_weakness_1_producers_workers_and_operators_are_different(producer, worker, operator):
    roles = {"enqueue_job": producer, "work_job": worker, "view_job": operator, "manage_job": operator}
    for call, codename in CALLS.items():
        for client in (producer, worker, operator):
            refused = client.generic(*call).status_code == 403
            assert refused == (client is not roles[codename]), (call, client.user.username)


open_views: list[object] = []
urlpatterns = open_views


@pytest.mark.parametrize("permissions", [[], [AllowAny], [WorkJob | AllowAny]])
def test_weakness_1_a_view_that_is_open_to_anonymous_callers_is_an_error(settings, permissions):
    view = ClaimJob.as_view(permission_classes=permissions)
    open_views[:] = [path("open", view), *protocol]
    settings.ROOT_URLCONF = __name__
    errors = [error for error in run_checks(tags=["urls"]) if error.id == "django_jobqueue.E004"]
    assert len(errors) == 1
    assert "ClaimJob lets anonymous callers POST" in errors[0].msg


def test_weakness_1_the_protocol_as_it_is_mounted_is_not_open():
    assert run_checks(tags=["urls"]) == []


# 2. Any string as type


@pytest.mark.parametrize(
    "type", ["os.system", "shop.jobs.send_invoice", "RESIZE-VIDEO", "resize-video ", "../x"]
)
def test_weakness_2_only_listed_types_are_taken(producer, type):
    response = producer.post("/jobs", {"type": type})
    assert (response.status_code, list(response.json())) == (400, ["type"])
    assert not Job.objects.exists()


# 3. Anyone takes critical


@pytest.mark.parametrize("priority", ["high", "critical", 20, 100])
def test_weakness_3_high_priorities_need_their_permission(caller, priority):
    body = {"type": TYPE, "priority": priority}
    assert caller("plain", "enqueue_job").post("/jobs", body).status_code == 403
    assert caller("urgent", "enqueue_job", "prioritize_job").post("/jobs", body).status_code == 201


# 4. Worker ids can be spoofed


def test_weakness_4_a_worker_id_gives_no_rights(worker, caller):
    Job.objects.enqueue(TYPE)
    job = worker.post("/jobs/claim", {"worker_id": "w-1"}).json()
    thief = caller("thief", "work_job")
    body = {"fencing_token": job["fencing_token"]}
    assert thief.post(f"/jobs/{job['id']}/complete", {**body, "worker_id": "w-1"}).status_code == 400
    assert thief.post(f"/jobs/{job['id']}/complete", body).json()["code"] == "not_owner"
    assert thief.post("/jobs/claim", {"worker_id": "w-1", "claimed_by": "worker"}).status_code == 400
    assert Job.objects.get().status == "running"


# 5. Anyone completes anyone's job


@pytest.mark.parametrize(
    ("verb", "body"), [("complete", {}), ("fail", {"error": "x"}), ("release", {}), ("heartbeat", {})]
)
def test_weakness_5_only_the_current_holder_acts_on_a_claim(worker, caller, verb, body):
    job = Job.objects.enqueue(TYPE)
    old = worker.post("/jobs/claim", {"worker_id": "w"}).json()
    Job.objects.reap(older_than=0)
    caller("second", "work_job").post("/jobs/claim", {"worker_id": "w"})
    url = f"/jobs/{job.pk}/{verb}"
    assert worker.post(url, {**body, "fencing_token": old["fencing_token"]}).json()["code"] == "claim_lost"
    assert worker.post(url, body).json()["code"] == "not_owner"
    now = Job.objects.get()
    assert (now.status, now.claimed_by, now.fencing_token) == ("running", "second", old["fencing_token"] + 1)


# 6. A claim in two steps


def test_weakness_6_a_claim_is_one_atomic_step(live_server, transactional_db):
    token = make_caller("worker", "work_job").token
    Job.objects.enqueue_many([{"type": TYPE}] * 24)
    url, batch = f"{live_server.url}/jobs/claim", f"{live_server.url}/jobs/claim-batch"

    def claim(index):
        if index % 2:
            return post(url, token, {"worker_id": f"w-{index}"})
        return post(batch, token, {"worker_id": f"w-{index}", "limit": 3})

    answers = at_once(12, claim)
    claims = [job["id"] for answer in answers for job in answer.body.get("jobs", [answer.body])]
    assert len(claims) == len(set(claims)) == 24


# 7. A payload of any size


def deep(levels):
    value = 1
    for _ in range(levels):
        value = {"a": value}
    return value


LIMITS = {
    "MAX_PAYLOAD_BYTES": (100, "/jobs", {"type": TYPE, "payload": {"a": "x" * 100}}, "payload"),
    "nesting": (None, "/jobs", {"type": TYPE, "payload": deep(33)}, "payload"),
    "API_MAX_RETRIES": (5, "/jobs", {"type": TYPE, "max_retries": 6}, "max_retries"),
    "API_MAX_RUN_AT_DAYS": (30, "/jobs", {"type": TYPE, "run_at": "2199-01-01T00:00:00Z"}, "run_at"),
    "MAX_LEASE_SECONDS": (700, "/jobs/claim", {"worker_id": "w", "lease_seconds": 701}, "lease_seconds"),
    "API_MAX_CLAIMS": (5, "/jobs/claim-batch", {"worker_id": "w", "limit": 6}, "limit"),
    "API_MAX_COMPLETIONS": (
        1,
        "/jobs/complete-batch",
        [{"id": n, "fencing_token": 1} for n in (1, 2)],
        "detail",
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_weakness_7_everything_has_a_limit(caller, settings, name):
    value, url, body, field = LIMITS[name]
    if value is not None:
        settings.JOBQUEUE = {**settings.JOBQUEUE, name: value}
    response = caller("both", "enqueue_job", "work_job").post(url, body)
    assert (response.status_code, list(response.json())) == (400, [field])
    assert not Job.objects.exists()


def test_weakness_7_a_result_has_a_limit(worker, settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "MAX_RESULT_BYTES": 100}
    job = Job.objects.enqueue(TYPE)
    worker.post("/jobs/claim", {"worker_id": "w"})
    for verb, field in (("complete", "result"), ("heartbeat", "progress")):
        response = worker.post(f"/jobs/{job.pk}/{verb}", {field: "x" * 100})
        assert (response.status_code, list(response.json())) == (400, [field])


def test_weakness_7_a_body_has_a_limit(producer, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = producer.post("/jobs", {"type": TYPE, "payload": {"a": "x" * 1000}})
    assert (response.status_code, response.json()) == (413, {"detail": "The body is too large."})


# 8. SQL and other injection


@pytest.fixture
def hostile(settings, caller):
    """A job all of whose texts are hostile, claimed by a hostile worker."""
    settings.JOBQUEUE = {**settings.JOBQUEUE, "EXTERNAL_JOB_TYPES": [HOSTILE]}
    everyone = caller("everyone", "enqueue_job", "work_job", "view_job")
    body = dict.fromkeys(("type", "idempotency_key"), HOSTILE)
    body |= {"queue": HOSTILE[:64], "payload": {HOSTILE: HOSTILE}, "meta": {HOSTILE: HOSTILE}}
    created = everyone.post("/jobs", body)
    assert created.status_code == 201, created.content
    names = {"worker_id": HOSTILE, "request_id": HOSTILE[:100], "queues": [HOSTILE[:64]], "types": [HOSTILE]}
    claimed = everyone.post("/jobs/claim", names)
    assert claimed.status_code == 200, claimed.content
    return everyone, claimed.json()


def test_weakness_8_texts_are_bound_parameters_and_come_back_as_they_were(hostile):
    everyone, job = hostile
    failed = everyone.post(f"/jobs/{job['id']}/fail", {"error": HOSTILE, "retryable": False}).json()
    assert failed["error"] == HOSTILE
    assert (job["type"], job["idempotency_key"], job["payload"]) == (HOSTILE, HOSTILE, {HOSTILE: HOSTILE})
    for name, value in {
        "type": HOSTILE,
        "queue": HOSTILE[:64],
        "worker_id": HOSTILE,
        "idempotency_key": HOSTILE,
    }.items():
        found = everyone.get("/jobs", {name: value}).json()["results"]
        assert [one["id"] for one in found] == [job["id"]], name
        assert everyone.get("/jobs", {name: f"{value[:40]}' OR '1'='1"}).json()["results"] == []


def test_weakness_8_stored_texts_are_inert_in_json(hostile):
    everyone, job = hostile
    response = everyone.get(f"/jobs/{job['id']}")
    assert response["Content-Type"] == "application/json"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert b"\x1b" not in response.content
    assert b"\r\nFAKE" not in response.content


def test_weakness_8_stored_texts_are_inert_in_the_admin(hostile):
    browser = Client()
    browser.force_login(User.objects.create_superuser("chief"))
    for url in (
        reverse("admin:django_jobqueue_job_changelist"),
        reverse("admin:django_jobqueue_job_change", args=[hostile[1]["id"]]),
    ):
        page = browser.get(url).content.decode()
        assert "<script>alert(1)" not in page
        assert "&lt;script&gt;alert(1)" in page


def test_weakness_8_stored_texts_are_inert_in_logs(caplog):
    for name in ("django_jobqueue", "django_jobqueue.worker"):
        logging.getLogger(name).warning("Job %s (%s) was given back", 7, HOSTILE)
    assert len(caplog.messages) == 2
    for message in caplog.messages:
        assert message.isprintable()
        assert "\\x1b[2J\\r\\nFAKE LINE\\u202e" in message


# 9. Probing keys


@pytest.mark.parametrize("mismatch", ["return", "reject"])
def test_weakness_9_another_principals_job_is_not_shown_by_its_key(caller, producer, settings, mismatch):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "IDEMPOTENCY_MISMATCH": mismatch}
    job = producer.post(
        "/jobs", {"type": TYPE, "idempotency_key": "invoice-1", "payload": {"secret": 1}}
    ).json()
    prober = caller("prober", "enqueue_job")
    same = prober.post("/jobs", {"type": TYPE, "idempotency_key": "invoice-1", "payload": {"secret": 1}})
    other = prober.post("/jobs", {"type": "test.noop", "idempotency_key": "invoice-1"})
    assert (same.status_code, other.status_code) == (409, 409)
    assert same.json() == other.json()
    assert same.json()["code"] == "key_taken"
    assert str(job["id"]) not in same.json()["detail"]
    assert "Idempotency-Mismatch" not in {*same.headers, *other.headers}


# 10. Errors leak secrets

CARD = "4111-1111-1111-1111"


@pytest.fixture
def charge():
    """A type whose handler calls ``card`` sensitive."""

    @registry.job_handler("pay-by-card", sensitive=["card"])
    def handler(job, *, card):
        """Never run here."""

    yield "pay-by-card"
    registry.unregister("pay-by-card")


@pytest.fixture
def charged(charge, caller):
    """A failed job of that type, whose error, result and progress repeat the card."""
    owner = caller("owner", "enqueue_job", "view_job")
    worker = caller("worker", "work_job", "view_job")
    body = {"type": charge, "payload": {"order": 7, "card": CARD, "by": [{"card": {"number": CARD}}]}}
    job = owner.post("/jobs", body).json()
    claimed = worker.post("/jobs/claim", {"worker_id": "w"}).json()
    worker.post(f"/jobs/{job['id']}/heartbeat", {"progress": {"card": CARD}})
    worker.post(f"/jobs/{job['id']}/fail", {"error": f"card {CARD} was refused", "retryable": False})
    return owner, worker, claimed


def test_weakness_10_payload_result_and_error_need_view_job_payload(charged, caller):
    shown = caller("other", "view_job").get("/jobs").json()["results"][0]
    assert (shown["payload"], shown["result"], shown["error"], shown["redacted"]) == (None, None, None, True)


def test_weakness_10_the_worker_gets_what_is_sensitive(charged):
    assert charged[2]["payload"]["card"] == CARD


def test_weakness_10_what_is_sensitive_is_masked_in_every_other_answer(charged, caller):
    owner, worker, claimed = charged
    auditor = caller("auditor", "view_job", "view_job_payload", "manage_job")
    answers = [client.get(f"/jobs/{claimed['id']}") for client in (owner, worker, auditor)]
    answers += [auditor.get("/jobs"), auditor.post(f"/jobs/{claimed['id']}/retry")]
    assert [answer.status_code for answer in answers] == [200] * 5
    assert CARD not in "".join(answer.content.decode() for answer in answers)
    shown = answers[0].json()
    assert shown["payload"] == {"order": 7, "card": "[redacted]", "by": [{"card": "[redacted]"}]}
    assert (shown["error"], shown["progress"]) == ("card [redacted] was refused", {"card": "[redacted]"})


def test_weakness_10_a_result_is_masked_for_its_own_worker_too(charge, worker):
    job = Job.objects.enqueue(charge, {"card": CARD})
    worker.post("/jobs/claim", {"worker_id": "w"})
    shown = worker.post(f"/jobs/{job.pk}/complete", {"result": {"card": CARD, "paid": True}}).json()
    assert shown["result"] == {"card": "[redacted]", "paid": True}
    assert Job.objects.get().result == {"card": CARD, "paid": True}


def test_weakness_10_what_is_sensitive_is_masked_in_the_admin(charged):
    browser = Client()
    browser.force_login(User.objects.create_superuser("chief"))
    page = browser.get(reverse("admin:django_jobqueue_job_change", args=[charged[2]["id"]])).content.decode()
    assert CARD not in page
    assert "card [redacted] was refused" in page


def test_weakness_10_types_of_outside_workers_have_sensitive_fields_by_setting(producer, settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "SENSITIVE_FIELDS": {TYPE: ["token"]}}
    shown = producer.post("/jobs", {"type": TYPE, "payload": {"token": "abcd", "width": 1}}).json()
    assert shown["payload"] == {"token": "[redacted]", "width": 1}


def test_weakness_10_nothing_of_a_job_is_logged(charged, caplog, settings):
    settings.JOBQUEUE = {**settings.JOBQUEUE, "IDEMPOTENCY_MISMATCH": "return"}
    caplog.set_level(logging.DEBUG, "django_jobqueue")
    owner = charged[0]
    for card in (CARD, CARD + "0"):
        owner.post("/jobs", {"type": "pay-by-card", "payload": {"card": card}, "idempotency_key": "k"})
    with connection.execute_wrapper(_fail):
        owner.post("/jobs", {"type": "pay-by-card", "payload": {"card": CARD}})
    assert caplog.messages
    assert CARD not in caplog.text


def _fail(execute, sql, params, many, context):
    from django.db import OperationalError

    if "INSERT" in sql:
        raise OperationalError("the server is gone")
    return execute(sql, params, many, context)

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from django_jobqueue import job_handler, once, registry
from django_jobqueue.exceptions import ResultNotStored
from django_jobqueue.ledger.keys import execution_key
from django_jobqueue.models import Job, JobExecution
from tests.admin.conftest import told
from tests.ledger.conftest import entry

pytestmark = pytest.mark.django_db

KEY = "invoice:42"
LIST = "admin:django_jobqueue_jobexecution_changelist"


class Operator:
    """A staff user in front of the ledger."""

    def __init__(self, client: Any, user: Any) -> None:
        self.user = user
        self.client = client
        client.force_login(user)

    def list(self, **query: Any) -> Any:
        return self.client.get(reverse(LIST), query)

    def keys(self, **query: Any) -> list[str]:
        return [it.pk for it in self.list(**query).context["cl"].result_list]

    def page(self, key: str = KEY) -> Any:
        return self.client.get(reverse("admin:django_jobqueue_jobexecution_change", args=[quote(key)]))

    def settle(self, verdict: str, key: str = KEY, **data: Any) -> Any:
        url = reverse("admin:django_jobqueue_jobexecution_settle", args=[quote(key)])
        return self.client.post(url, {"verdict": verdict, "attempts": 1, **data})

    def act_on(self, keys: list[str], action: str) -> Any:
        return self.client.post(reverse(LIST), {"action": action, "_selected_action": keys})


@pytest.fixture
def operator(client: Any) -> Callable[..., Operator]:
    def login(*codenames: str) -> Operator:
        user = get_user_model().objects.create_user("operator", is_staff=True)
        permissions = Permission.objects.filter(
            content_type__app_label="django_jobqueue", codename__in=codenames
        )
        assert len(permissions) == len(codenames)
        user.user_permissions.set(permissions)
        return Operator(client, user)

    return login


@pytest.fixture
def chief(client: Any) -> Operator:
    return Operator(client, get_user_model().objects.create_superuser("chief"))


def without_result(key=KEY):
    with pytest.raises(ResultNotStored):
        once(key, lambda: {1})


def test_what_is_in_doubt_comes_first_and_the_stalest_in_front(chief, left_open, gateway):
    once("done", gateway)
    left_open("running", seconds=20)
    left_open("younger doubt", seconds=-5)
    left_open("older doubt", seconds=-50)
    with pytest.raises(ConnectionError):
        once("failed", gateway.refuse)
    assert chief.keys() == ["older doubt", "younger doubt", "running", "failed", "done"]


def test_the_list_shows_the_state_of_each(chief, left_open, gateway):
    once("done", gateway)
    left_open("doubtful")
    without_result("empty")
    page = chief.list().content.decode()
    assert page.count(">in doubt</span>") == page.count(">no result</span>") == 1


@pytest.mark.parametrize(
    ("status", "keys"),
    [
        ("in doubt", ["doubtful"]),
        ("processing", ["doubtful", "running"]),
        ("no result", ["empty"]),
        ("failed", []),
    ],
)
def test_the_list_is_filtered_by_state(chief, left_open, status, keys):
    left_open("doubtful")
    left_open("running", seconds=20)
    without_result("empty")
    assert chief.keys(status=status) == keys


def test_the_list_is_filtered_by_type(chief, left_open):
    left_open("a")
    left_open("b")
    JobExecution.objects.filter(pk="b").update(job_type="send-invoice")
    assert chief.keys(job_type="send-invoice") == ["b"]


def test_a_key_is_found_by_its_beginning(chief, left_open):
    for key in ("invoice:42", "invoice:5", "Invoice:42"):
        left_open(key)
    assert chief.keys(q="invoice:4") == ["invoice:42"]


def test_an_unknown_state_or_filter_is_refused(chief):
    assert chief.list(status="nonsense").status_code == 302
    assert chief.list(result__contains="x").status_code == 400


def test_the_page_of_an_execution_offers_to_settle_it_only_in_doubt(chief, left_open, gateway):
    left_open()
    once("done", gateway)
    without_result("empty")
    offers = {
        key: (page.context["may_confirm"], page.context["may_deny"])
        for key in (KEY, "done", "empty")
        if (page := chief.page(key))
    }
    assert offers == {KEY: (True, True), "done": (False, False), "empty": (True, False)}


@pytest.mark.parametrize("key", ["a/b c", "größe:1", '<b>"&', "x" * 255, "key_5F:1"])
def test_any_key_has_a_page(chief, left_open, key):
    left_open(key)
    page = chief.page(key)
    assert page.status_code == 200
    assert "<b>" not in page.content.decode()


@pytest.mark.parametrize("key", ["gone", "a\0b"])
def test_an_execution_that_is_gone_leads_back(chief, key):
    assert chief.page(key).status_code == 302
    response = chief.settle("deny", key)
    assert told(response)[-1] == "There is no such execution; it may have been pruned."


def test_it_happened_stores_the_result(chief, left_open, gateway):
    left_open()
    response = chief.settle("confirm", result='{"charge": "by hand"}')
    assert told(response) == ["Settled: it happened."]
    assert once(KEY, gateway) == {"charge": "by hand"}


def test_it_did_not_happen_lets_the_next_try_run_it(chief, left_open, gateway):
    left_open()
    assert told(chief.settle("deny")) == ["Settled: it did not happen."]
    assert once(KEY, gateway, on_stale="halt") == {"charge": 1}


@pytest.mark.parametrize(
    ("result", "reason"), [("{", "not JSON"), ("[" * 9999, "not JSON"), ("NaN", "nan is not JSON")]
)
def test_a_result_that_is_not_json_changes_nothing(chief, left_open, result, reason):
    left_open()
    (message,) = told(chief.settle("confirm", result=result))
    assert message.startswith("Nothing was changed:")
    assert reason in message
    assert entry().status == "processing"


def test_an_execution_that_was_taken_over_since_its_page_was_shown_is_not_settled(chief, left_open):
    left_open()
    JobExecution.objects.filter(pk=KEY).update(attempts=2)
    assert told(chief.settle("deny")) == ["Nothing was changed: it is not in doubt any more."]
    assert entry().status == "processing"


def test_several_are_settled_at_once_and_the_others_skipped(chief, left_open):
    left_open("a")
    left_open("b")
    left_open("running", seconds=20)
    response = chief.act_on(["a", "b", "running"], "deny")
    assert told(response) == ["2 settled: it did not happen, 1 skipped (not in doubt)."]
    assert [entry(key).status for key in ("a", "b", "running")] == ["failed", "failed", "processing"]


def test_more_than_one_request_can_settle_are_settled_in_steps(chief, left_open, monkeypatch):
    monkeypatch.setattr("django_jobqueue.admin.ledger.LIMIT", 1)
    left_open("a")
    left_open("b")
    response = chief.act_on(["a", "b"], "confirm")
    assert told(response) == ["1 settled: it happened. Only 1 were taken; run the action again for more."]


def test_a_selection_that_no_database_could_hold_is_refused(chief):
    assert told(chief.act_on(["\0"], "deny")) == ["What was selected is not an execution."]


@pytest.mark.parametrize("data", [{"verdict": "maybe"}, {"verdict": "deny", "attempts": "x"}])
def test_a_button_that_does_not_exist_is_refused(chief, left_open, data):
    left_open()
    assert chief.settle(**data).status_code == 400


def test_looking_at_the_address_of_a_button_changes_nothing(chief, left_open):
    left_open()
    url = reverse("admin:django_jobqueue_jobexecution_settle", args=[quote(KEY)])
    assert chief.client.get(url, {"verdict": "deny", "attempts": 1}).status_code == 400
    assert entry().status == "processing"


def test_what_was_settled_is_in_the_log_with_who_did_it(operator, left_open):
    left_open()
    left_open("other")
    operator = operator("view_jobexecution", "confirm_jobexecution", "deny_jobexecution")
    operator.settle("confirm")
    operator.act_on(["other"], "deny")
    entries = LogEntry.objects.order_by("pk").values_list("user__username", "object_id", "change_message")
    assert list(entries) == [
        ("operator", KEY, "Settled: it happened."),
        ("operator", "other", "Settled: it did not happen."),
    ]


@pytest.mark.parametrize(("verdict", "other"), [("confirm", "deny"), ("deny", "confirm")])
def test_each_verdict_has_a_permission_of_its_own(operator, left_open, verdict, other):
    left_open()
    operator = operator("view_jobexecution", f"{other}_jobexecution")
    assert operator.settle(verdict).status_code == 403
    operator.act_on([KEY], verdict)
    assert entry().status == "processing"
    assert operator.page().context[f"may_{verdict}"] is False
    operator.settle(other)
    assert entry().status != "processing"


def test_without_the_permission_to_look_nothing_is_shown(operator, left_open):
    left_open()
    operator = operator("view_job", "deny_jobexecution")
    assert operator.list().status_code == 403
    assert operator.page().status_code == 403
    assert operator.settle("deny").status_code == 403


def test_results_and_errors_need_the_permission_for_payloads(operator, gateway):
    once(KEY, lambda: "top-secret")
    with pytest.raises(RuntimeError):
        once("failed", lambda: (_ for _ in ()).throw(RuntimeError("top-secret")))
    operator = operator("view_jobexecution")
    for key in (KEY, "failed"):
        page = operator.page(key).content.decode()
        assert "top-secret" not in page
        assert "Hidden: needs the permission" in page


def test_results_and_errors_are_shown_escaped(chief):
    once(KEY, lambda: "<script>alert(1)</script>")
    page = chief.page().content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page


def test_nothing_can_be_added_edited_or_deleted(chief, left_open):
    left_open()
    for view, args in (("add", []), ("delete", [quote(KEY)])):
        url = reverse(f"admin:django_jobqueue_jobexecution_{view}", args=args)
        assert chief.client.post(url, {"post": "yes"}).status_code == 403
    url = reverse("admin:django_jobqueue_jobexecution_change", args=[quote(KEY)])
    assert chief.client.post(url, {"status": "failed"}).status_code == 403
    assert entry().status == "processing"


def test_the_list_loads_no_results(chief, gateway):
    once(KEY, gateway)
    with CaptureQueriesContext(connection) as queries:
        chief.list()
    table = JobExecution._meta.db_table
    asked = [query["sql"] for query in queries if table in query["sql"]]
    assert asked
    assert [sql for sql in asked if "result" in sql.replace("without_result", "")] == []


@pytest.fixture
def pay():
    @job_handler("test.pay", sensitive=["card"])
    def handler(job, *, card):
        """Never run here."""

    yield "test.pay"
    registry.unregister("test.pay")


@pytest.mark.parametrize("key", [None, "order:7"])
def test_sensitive_values_are_masked_and_a_job_and_its_executions_link_to_each_other(client, pay, key):
    client.force_login(get_user_model().objects.create_superuser("chief"))
    job = Job.objects.enqueue(pay, {"card": "4111-1111"}, idempotency_key=key)
    Job.objects.enqueue(pay, {"card": "4111-1111"}, idempotency_key="other")
    execution = execution_key(job.pk, key, "charge")
    now = timezone.now()
    common = {"job_type": pay, "owner": "w", "created_at": now, "completed_at": now}
    JobExecution.objects.bulk_create(
        [
            JobExecution(
                idempotency_key=execution,
                status="failed",
                result={"card": "4111-1111", "paid": True},
                error="card 4111-1111 was refused",
                **common,
            ),
            JobExecution(idempotency_key="of-no-job", status="completed", result=1, **common),
        ]
    )
    url = reverse("admin:django_jobqueue_jobexecution_change", args=[quote(execution)])
    page = client.get(url).content.decode()
    assert "4111-1111" not in page
    assert "card [redacted] was refused" in page
    job_url = reverse("admin:django_jobqueue_job_change", args=[job.pk])
    assert f'href="{job_url}"' in page
    assert '<pre class="jobqueue-block" tabindex="0">' in page
    link = re.search(rf'href="({re.escape(reverse(LIST))}\?q=[^"]+)"', client.get(job_url).content.decode())
    assert link
    listed = client.get(link[1]).context["cl"].result_list
    assert [one.pk for one in listed] == [execution]


def test_the_search_box_has_a_label(client):
    client.force_login(get_user_model().objects.create_superuser("chief"))
    assert 'aria-label="Search"' in client.get(reverse(LIST)).content.decode()


@pytest.mark.parametrize("typed", ['{"id": 7, </textarea>', '{"a": "\\u0000"}', "[" * 100_000])
def test_a_result_that_is_refused_is_kept_in_the_form(client, typed):
    client.force_login(get_user_model().objects.create_superuser("chief"))
    now = timezone.now()
    JobExecution.objects.bulk_create(
        [
            JobExecution(
                idempotency_key=KEY, status="processing", owner="w", created_at=now, lease_expires_at=now
            )
        ]
    )
    url = reverse("admin:django_jobqueue_jobexecution_settle", args=[quote(KEY)])
    response = client.post(url, {"verdict": "confirm", "attempts": 1, "result": typed})
    page = response.content.decode()
    assert f">{escape(typed)}</textarea>" in page
    assert "Nothing was changed" in page
    assert JobExecution.objects.get(pk=KEY).status == "processing"

"""What ``demo --serve`` hands out."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError
from rest_framework.authtoken.models import Token

from example_project.demo.serve import bind, create_accounts

JOB = "django_jobqueue."


@pytest.mark.parametrize(
    ("role", "permissions"),
    [
        ("producer", {"enqueue_job"}),
        ("worker", {"work_job"}),
        ("operator", {"view_job", "manage_job", "view_job_payload"}),
    ],
)
def test_a_role_may_do_its_work_with_jobs_and_nothing_else(db, role, permissions):
    create_accounts()
    user = User.objects.get(username=f"demo-{role}")
    assert {name for name in user.get_all_permissions() if name.startswith(JOB)} == {
        JOB + name for name in permissions
    }


def test_only_the_operator_gets_into_the_admin(db, client):
    entered = {}
    for account in create_accounts():
        assert client.login(username=account.username, password=account.password)
        entered[account.role] = client.get("/admin/").status_code
    assert entered == {"producer": 302, "worker": 302, "operator": 200}


def test_the_operator_sees_jobs_and_orders_in_the_admin(db, client):
    operator = create_accounts()[2]
    client.login(username=operator.username, password=operator.password)
    for page in ("django_jobqueue/job", "example_project/order"):
        assert client.get(f"/admin/{page}/").status_code == 200


def test_a_second_time_replaces_passwords_and_tokens(db, client):
    before, after = create_accounts(), create_accounts()
    assert not client.login(username=before[0].username, password=before[0].password)
    assert {token.key for token in Token.objects.all()} == {account.token for account in after}


@pytest.mark.parametrize("address", ["8000", ":8000", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000"])
def test_an_address_without_host_or_port_is_refused(address):
    with pytest.raises(CommandError, match="is not HOST:PORT"):
        bind(address)


def test_a_port_in_use_is_refused_before_the_demo_runs():
    taken = bind("127.0.0.1:0")
    try:
        with pytest.raises(CommandError, match="name another port"):
            bind(f"127.0.0.1:{taken.server_address[1]}")
    finally:
        taken.server_close()

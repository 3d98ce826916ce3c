"""The shop with its doors open: the development server, a worker, and somebody for each role."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import CommandError
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.db import transaction
from rest_framework.authtoken.models import Token

ROLES = {
    "producer": ["enqueue_job"],
    "worker": ["work_job"],
    "operator": ["view_job", "manage_job", "view_job_payload"],
}
"""Role -> permissions of ``Job``. The operator is staff and gets the right to see the shop's orders too."""

OUTSIDE_QUEUE = "video"


@dataclass(frozen=True, slots=True)
class Account:
    """A user who can log in; ``password`` and ``token`` are shown once and kept nowhere else."""

    role: str
    username: str
    password: str
    token: str


def create_accounts() -> list[Account]:
    """A group and a user for each role, with a new password and a new token every time."""
    accounts = []
    for role, codenames in ROLES.items():
        permissions = Permission.objects.filter(
            content_type__app_label="django_jobqueue", content_type__model="job", codename__in=codenames
        )
        with transaction.atomic():
            group, _ = Group.objects.get_or_create(name=role)
            group.permissions.set(permissions)
            user, _ = User.objects.get_or_create(username=f"demo-{role}")
            user.is_staff = role == "operator"
            password = secrets.token_urlsafe(9)
            user.set_password(password)
            user.save()
            user.groups.set([group])
            if user.is_staff:
                user.user_permissions.set(
                    Permission.objects.filter(
                        content_type__app_label="example_project", codename="view_order"
                    )
                )
            Token.objects.filter(user=user).delete()
            accounts.append(Account(role, user.username, password, Token.objects.create(user=user).key))
    return accounts


def bind(address: str) -> ThreadedWSGIServer:
    """A server for the admin and the HTTP API that holds ``HOST:PORT`` already. Raises ``CommandError``."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise CommandError(f"--serve: {address!r} is not HOST:PORT, for example 127.0.0.1:8000.")
    try:
        server = ThreadedWSGIServer((host, int(port)), WSGIRequestHandler)
    except OSError as error:
        raise CommandError(
            f"--serve: {address} cannot be used ({error.strerror}); name another port."
        ) from None
    server.daemon_threads = True
    server.set_app(StaticFilesHandler(WSGIHandler()))
    return server


def describe(url: str, accounts: list[Account]) -> str:
    """What one can do with the server, to copy and paste."""
    tokens = {account.role: account.token for account in accounts}
    operator = next(account for account in accounts if account.role == "operator")
    lines = ["role      user             password      token"]
    lines += [f"{a.role:<8}  {a.username:<15}  {a.password:<12}  {a.token}" for a in accounts]
    request = {"type": "resize-video", "queue": OUTSIDE_QUEUE, "payload": {"file": "a.mp4"}}
    claim = {"worker_id": "worker-1", "queues": [OUTSIDE_QUEUE]}
    return "\n".join(
        [
            *lines,
            "",
            f"Admin: {url}/admin/  (log in as {operator.username}; try Retry on a failed charge)",
            f"A worker runs the jobs of every queue but {OUTSIDE_QUEUE!r}, which is for yours, over HTTP:",
            "",
            _curl(f"{url}/jobs", tokens["producer"], request),
            _curl(f"{url}/jobs/claim", tokens["worker"], claim),
            "",
            "Stop with Ctrl-C.",
        ]
    )


def _curl(url: str, token: str, body: dict[str, Any]) -> str:
    return (
        f"curl {url} -H 'Authorization: Token {token}' -H 'Content-Type: application/json' \\\n"
        f"  -d '{json.dumps(body)}'"
    )

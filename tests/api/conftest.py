"""Callers of the protocol: each a user with a token and the permissions that a test names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from rest_framework.authtoken.models import Token
from rest_framework.test import APIClient

TYPE = "resize-video"  # in EXTERNAL_JOB_TYPES of the example project


class Caller(APIClient):
    """A client that speaks JSON and carries its user's token."""

    def __init__(self, user: User) -> None:
        super().__init__()
        self.user = user
        self.token = Token.objects.create(user=user).key
        self.credentials(HTTP_AUTHORIZATION=f"Token {self.token}")

    def post(self, path: str, body: Any = None, **extra: Any) -> Any:
        """POST ``body`` as JSON in ASCII, which can name what UTF-8 cannot."""
        data = b"" if body is None else json.dumps(body).encode()
        return self.generic("POST", path, data, content_type="application/json", **extra)


def make_caller(name: str, *codenames: str) -> Caller:
    user = User.objects.create_user(name)
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label="django_jobqueue", codename__in=codenames)
    )
    return Caller(user)


@pytest.fixture
def caller(db: None) -> Callable[..., Caller]:
    """Makes a caller: ``caller("name", "work_job", ...)``."""
    return make_caller


@pytest.fixture
def producer(db: None) -> Caller:
    return make_caller("producer", "enqueue_job")


@pytest.fixture
def worker(db: None) -> Caller:
    return make_caller("worker", "work_job")


@pytest.fixture
def operator(db: None) -> Caller:
    return make_caller("operator", "view_job", "manage_job")


@pytest.fixture(autouse=True)
def _no_upkeep(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Claims of these tests do no upkeep, which goes by the clock; see ``test_upkeep``."""
    if "test_upkeep" not in request.node.nodeid:
        monkeypatch.setattr("django_jobqueue.api.claims.keep_up", lambda: None)

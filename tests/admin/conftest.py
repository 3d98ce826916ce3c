"""Users of the admin, and what their browser shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

LIST = "admin:django_jobqueue_job_changelist"


class Browser:
    """A logged-in user in front of the admin."""

    def __init__(self, user: Any) -> None:
        self.user = user
        self.client = Client()
        self.client.force_login(user)

    def list(self, **query: Any) -> Any:
        return self.client.get(reverse(LIST), query)

    def ids(self, **query: Any) -> list[int]:
        """The ids of the jobs that the list shows, in its order."""
        return [job.pk for job in self.list(**query).context["cl"].result_list]

    def page(self, job: Any) -> Any:
        return self.client.get(reverse("admin:django_jobqueue_job_change", args=[job.pk]))

    def act(self, job: Any, verb: str, *, token: int | str | None = None) -> Any:
        """Press a button of the job's page."""
        url = reverse("admin:django_jobqueue_job_act", args=[job.pk])
        return self.client.post(
            url, {"verb": verb, "fencing_token": job.fencing_token if token is None else token}
        )

    def act_on(self, jobs: Any, verb: str, **data: Any) -> Any:
        """Choose an action of the list for these jobs."""
        ids = [job.pk for job in jobs]
        return self.client.post(reverse(LIST), {"action": verb, "_selected_action": ids, **data})

    def enqueue(self, **data: Any) -> Any:
        return self.client.post(reverse("admin:django_jobqueue_job_add"), data)


def told(response: Any) -> list[str]:
    """The messages that the user sees next."""
    return [str(message) for message in get_messages(response.wsgi_request)]


@pytest.fixture
def browser(db: None) -> Callable[..., Browser]:
    """A browser of a staff user who has the permissions of ``Job`` with these codenames."""

    def login(*codenames: str, username: str = "operator") -> Browser:
        user = get_user_model().objects.create_user(username, is_staff=True)
        permissions = Permission.objects.filter(
            content_type__app_label="django_jobqueue", content_type__model="job", codename__in=codenames
        )
        assert len(permissions) == len(codenames)
        user.user_permissions.set(permissions)
        return Browser(user)

    return login


@pytest.fixture
def chief(db: None) -> Browser:
    """A superuser's browser."""
    return Browser(get_user_model().objects.create_superuser("chief"))

"""Who may enqueue what the outbox delivers."""

from __future__ import annotations

import pytest

from tests.api.conftest import make_caller

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("type", ["jobqueue.webhook", "jobqueue.message"])
def test_a_caller_of_the_api_cannot_have_the_project_sign_and_send(type):
    answer = make_caller("producer", "enqueue_job").post("/jobs", {"type": type, "payload": {}})
    assert answer.status_code == 400
    assert "type" in answer.data

"""Projects whose workers all come over HTTP: claims promote and reap, too."""

from __future__ import annotations

from datetime import timedelta

import pytest

from django_jobqueue.api import upkeep
from django_jobqueue.models import Job
from tests.api.conftest import TYPE
from tests.support.processes import wait_until


@pytest.fixture(autouse=True)
def _due(monkeypatch):
    """Nothing was done in this process yet."""
    monkeypatch.setattr(upkeep, "_upkeeps", {})


def test_a_claim_promotes_what_is_due(worker):
    job = Job.objects.enqueue(TYPE, run_at=timedelta(seconds=0.05))
    wait_until(lambda: worker.post("/jobs/claim", {"worker_id": "w"}).status_code == 200, interval=0.1)
    assert Job.objects.get(pk=job.pk).status == "running"


def test_a_claim_reaps_what_a_lost_worker_left(worker):
    job = Job.objects.enqueue(TYPE)
    Job.objects.claim(worker_id="gone", lease_seconds=0.001)
    wait_until(lambda: Job.objects.list_stale().exists())
    answer = worker.post("/jobs/claim", {"worker_id": "w"})
    assert (answer.status_code, answer.data["id"]) == (200, job.pk)
    assert Job.objects.get(pk=job.pk).retry_count == 1

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from django_jobqueue.models import Job
from tests.api.conftest import TYPE, make_caller
from tests.support.processes import wait_until

WORKER = Path(__file__).parent.parent.parent / "examples" / "minimal_worker.py"


def test_the_minimal_worker_drains_a_queue_over_http(live_server, transactional_db):
    worker = make_caller("worker", "work_job")
    good = [Job.objects.enqueue(TYPE, {"width": 4, "height": n}).pk for n in range(5)]
    bad = Job.objects.enqueue(TYPE, {"width": 4}, max_retries=1).pk
    environment = {**os.environ, "JOBS_URL": live_server.url, "JOBS_TOKEN": worker.token}
    process = subprocess.Popen([sys.executable, WORKER], env=environment)
    try:
        wait_until(lambda: not Job.objects.exclude(status__in=["completed", "failed"]).exists())
        assert process.poll() is None
    finally:
        process.kill()
        process.wait(10)
    assert Counter(Job.objects.values_list("status", flat=True)) == {"completed": 5, "failed": 1}
    assert [Job.objects.get(pk=pk).result for pk in good] == [{"pixels": 4 * n} for n in range(5)]
    failed = Job.objects.get(pk=bad)
    assert (failed.retry_count, failed.error) == (1, "KeyError('height')")


def test_the_worker_of_the_reference_protocol_works_as_it_stands(worker):
    done, broken = Job.objects.enqueue(TYPE), Job.objects.enqueue("test.noop", max_retries=0)
    job = worker.post("/jobs/claim", {"worker_id": "worker-1"}).json()
    assert worker.post(f"/jobs/{job['id']}/complete", {}).status_code == 200
    job = worker.post("/jobs/claim", {"worker_id": "worker-1"}).json()
    assert worker.post(f"/jobs/{job['id']}/fail", {"error": "message"}).status_code == 200
    assert worker.post("/jobs/claim", {"worker_id": "worker-1"}).status_code == 204
    assert Job.objects.get(pk=done.pk).status == "completed"
    assert Job.objects.get(pk=broken.pk).status == "failed"


def test_the_documentation_shows_this_worker():
    code = WORKER.read_text().split('"""', 2)[2].strip()
    assert code in (WORKER.parent.parent / "docs" / "http.md").read_text()

"""The example workers, each a real process against a real server: they drain a queue while they are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection

from django_jobqueue.models import Job, JobAttempt
from tests.api.conftest import TYPE, make_caller
from tests.support.processes import wait_until
from tests.support.programs import need
from tests.support.proxy import Proxy

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "workers"
COMMANDS = {
    "python": [sys.executable, str(FOLDER / "worker.py")],
    "node": ["node", str(FOLDER / "worker.mjs")],
    "shell": ["bash", str(FOLDER / "worker.sh")],
}
PROGRAMS = {"python": (), "node": ("node",), "shell": ("bash", "curl", "jq")}
JOBS = 200
KILLS = 3
LEASE = 2

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=COMMANDS)
def start(
    request, live_server, transactional_db, tmp_path
) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a worker of the language, with these ``variables`` in its environment."""
    need(*PROGRAMS[request.param])
    command = COMMANDS[request.param]
    started: list[subprocess.Popen[bytes]] = []
    environment = {
        **os.environ,
        "JOBS_URL": live_server.url,
        "JOBS_TOKEN": make_caller("worker", "work_job").token,
        "LEASE_SECONDS": str(LEASE),
        "LONGEST_PAUSE_SECONDS": "0.3",
        "TMPDIR": str(tmp_path),
    }

    def start(**variables: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(command, env={**environment, **variables}, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started, as a lost machine would."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(15) == 0


def enqueue(count: int = 1, **options: object) -> list[int]:
    new = [{"type": TYPE, "payload": {"width": 4, "height": n + 1}, **options} for n in range(count)]
    return [one.job.pk for one in Job.objects.enqueue_many(new) if one.job]


def status(job_id: int) -> str:
    return Job.objects.values_list("status", flat=True).get(pk=job_id)


@pytest.mark.timeout(1200)
def test_a_worker_drains_200_jobs_while_it_is_killed_and_restarted(start):
    jobs = enqueue(JOBS, max_retries=100)
    process = start()
    for kill in range(1, KILLS + 1):
        goal = JOBS * kill // (KILLS + 1)
        wait_until(lambda goal=goal: Job.objects.filter(status="completed").count() >= goal, timeout=300)
        wait_until(lambda: Job.objects.filter(status="running").exists(), interval=0.001)
        _kill(process)
        process = start()

    def drained() -> bool:
        Job.objects.reap()
        return not Job.objects.exclude(status="completed").exists()

    wait_until(drained, timeout=600, interval=0.1)
    stop(process)
    results = dict(Job.objects.values_list("pk", "result"))
    assert results == {pk: {"pixels": 4 * (n + 1)} for n, pk in enumerate(jobs)}
    assert set(JobAttempt.objects.values_list("outcome", flat=True)) <= {"lost"}


def test_a_stopped_worker_gives_its_job_back_and_ends_well(start):
    job = enqueue(payload={"width": 4, "height": 1, "seconds": 60})[0]
    process = start()
    wait_until(lambda: status(job) == "running")
    stop(process)
    given_back = Job.objects.get()
    assert (given_back.status, given_back.retry_count, given_back.fencing_token) == ("pending", 0, 1)
    assert not JobAttempt.objects.exists()


def _session(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that a worker has started and that are there, with itself."""
    found = subprocess.run(["ps", "-o", "pid=,stat=", "-s", str(process.pid)], capture_output=True, text=True)
    return [int(line.split()[0]) for line in found.stdout.splitlines() if "Z" not in line.split()[1]]


AWAY = ["refuses", "is silent"]


@pytest.fixture(params=AWAY)
def away(request) -> Iterator[str]:
    """The address of a server that is away."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        if request.param == "refuses":
            listening.close()
        yield url


def test_a_worker_without_a_server_ends_within_seconds(start, away):
    process = start(JOBS_URL=away, LONGEST_PAUSE_SECONDS="30")
    time.sleep(2)  # until it has called in vain: nothing tells of it
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(25)
    assert time.monotonic() - begun < 15  # of 30, with room for a busy machine
    wait_until(lambda: not _session(process))


@pytest.mark.parametrize("how", AWAY)
def test_a_worker_whose_server_went_away_ends_within_seconds_and_leaves_its_job_to_the_lease(
    start, live_server, how
):
    job = enqueue(payload={"width": 4, "height": 1, "seconds": 60})[0]
    relay = Proxy(urlsplit(live_server.url).port)
    process = start(JOBS_URL=f"http://127.0.0.1:{relay.port}", LEASE_SECONDS="60")
    wait_until(lambda: status(job) == "running")
    (relay.refuse if how == "refuses" else relay.freeze)()
    process.send_signal(signal.SIGTERM)
    process.wait(25)
    wait_until(lambda: not _session(process))
    relay.close()
    assert status(job) == "running"


def test_a_killed_worker_leaves_nothing_behind(start, tmp_path):
    job = enqueue(payload={"width": 4, "height": 1, "seconds": 60})[0]
    process = start()
    wait_until(lambda: status(job) == "running")
    process.kill()  # itself alone
    process.wait(10)
    wait_until(lambda: not _session(process))
    wait_until(lambda: not list(tmp_path.iterdir()))


@pytest.mark.parametrize("job_id", [2**53 + 1, 2**63 - 1])
def test_a_worker_keeps_ids_past_53_bits(start, job_id):
    enqueue()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_jobqueue_job SET id = %s", [job_id])
    process = start()
    wait_until(lambda: status(job_id) == "completed")
    stop(process)


def test_an_idle_worker_stops_at_once(start):
    job = enqueue()[0]
    process = start()
    wait_until(lambda: status(job) == "completed")
    begun = time.monotonic()
    stop(process)
    assert time.monotonic() - begun < 5


def test_a_worker_renews_its_lease_while_it_works(start):
    job = enqueue(payload={"width": 4, "height": 1, "seconds": 2 * LEASE})[0]
    start()
    wait_until(lambda: Job.objects.reap() or status(job) == "completed")
    done = Job.objects.get()
    assert (done.status, done.fencing_token) == ("completed", 1)


def test_a_killed_workers_lease_runs_out(start):
    job = enqueue(payload={"width": 4, "height": 1, "seconds": 3 * LEASE}, max_retries=1)[0]
    process = start()
    wait_until(lambda: status(job) == "running")
    _kill(process)
    wait_until(Job.objects.reap, timeout=4 * LEASE)
    assert status(job) == "pending"


def test_a_failure_is_reported_with_its_reason(start):
    job = enqueue(payload={"width": 4, "height": None}, max_retries=0)[0]
    start()
    wait_until(lambda: status(job) == "failed")
    assert Job.objects.get().error.strip()


def test_a_worker_stops_working_when_its_claim_is_lost_and_goes_on_with_the_next(start):
    lost = enqueue(payload={"width": 4, "height": 1, "seconds": 60})[0]
    start()
    wait_until(lambda: status(lost) == "running")
    Job.objects.reap(older_than=0)
    Job.objects.cancel(lost)
    after = enqueue()[0]
    wait_until(lambda: status(after) == "completed")
    assert status(lost) == "cancelled"


def test_a_worker_stops_working_when_the_job_is_cancelled(start):
    job = enqueue(payload={"width": 4, "height": 1, "seconds": 60})[0]
    start()
    wait_until(lambda: status(job) == "running")
    Job.objects.cancel(job)
    wait_until(lambda: status(job) == "cancelled")

"""``manage.py demo`` as a newcomer runs it: a real process, on a database of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from django.db import OperationalError, connection

from tests.support.processes import wait_until

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory, django_db_blocker):
    """The environment of a shop whose database is empty at first and gone afterwards."""
    shop = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "example_project.settings",
        "SHOP_VAR_DIR": str(tmp_path_factory.mktemp("shop")),
        "PYTHONUNBUFFERED": "1",
    }
    if connection.settings_dict["ENGINE"].endswith("sqlite3"):
        shop.pop("DATABASE_URL", None)
        yield shop
        return
    name = f"test_demo_{os.getpid()}"
    shop["DATABASE_URL"] = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()

    def execute(sql):
        with connection._nodb_cursor() as cursor:
            cursor.execute(sql)

    def dropped():
        try:
            execute(f"DROP DATABASE {name}")
        except OperationalError:  # the server has not yet noticed that the killed worker is gone
            return False
        return True

    with django_db_blocker.unblock():
        execute(f"CREATE DATABASE {name}")
        try:
            yield shop
        finally:
            wait_until(dropped)


class Demo:
    """A running ``manage.py demo``."""

    def __init__(self, environment, *options):
        self.output = ""
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "demo", *options],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def read_until(self, text):
        for line in self.process.stdout:
            self.output += line
            if text in line:
                return
        raise AssertionError(f"the demo ended without {text!r}:\n{self.output}")

    def end(self, number=None):
        """Send a signal, if there is one, and wait for the end; returns the exit code."""
        if number is not None:
            self.process.send_signal(number)
        self.output += self.process.communicate(timeout=120)[0]
        return self.process.returncode

    def workers(self):
        return [int(pid) for pid in re.findall(r"\(pid (\d+)\)", self.output)]


@pytest.fixture
def demo(environment):
    started = []

    def start(*options):
        started.append(Demo(environment, *options))
        return started[-1]

    yield start
    for run in started:
        if run.process.poll() is None:
            run.end(signal.SIGTERM)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def count_unfinished(environment):
    code = (
        "from django_jobqueue.models import Job;"
        "jobs = Job.objects.filter(status__in=['scheduled', 'pending', 'running']);"
        "print('unfinished', jobs.filter(cancel_requested_at=None).count())"
    )
    shell = subprocess.run(
        [sys.executable, "manage.py", "shell", "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(shell.stdout.split()[-1])


def test_a_demo_that_is_interrupted_leaves_no_process_and_no_waiting_job(demo, environment):
    run = demo()
    run.read_until("Started worker two")
    assert run.end(signal.SIGINT) == 130, run.output
    assert [pid for pid in run.workers() if is_alive(pid)] == []
    assert count_unfinished(environment) == 0


def test_a_demo_on_the_same_database_again_loses_nothing_and_refuses_all_duplicates(demo):
    run = demo()
    assert run.end() == 0, run.output
    assert run.output.splitlines()[-1] == "lost 0"
    assert "Enqueued again with the same keys: 32; duplicates refused: 32;" in run.output
    assert re.search(r"charge-\w+-06  charged once  The worker .* was stopped or lost", run.output)
    assert [pid for pid in run.workers() if is_alive(pid)] == []


def call(url, token, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Authorization": f"Token {token}", "Content-Type": "application/json"})
    with urlopen(request, timeout=30) as response:
        return response.status, json.loads(response.read())


def test_the_served_shop_lets_each_role_do_its_part(demo):
    run = demo("--serve", "127.0.0.1:0")
    run.read_until("Stop with Ctrl-C.")
    url = re.search(r"Admin: (http://[\d.:]+)/admin/", run.output)[1]
    tokens = dict(re.findall(r"demo-(\w+)  +\S+  +([0-9a-f]{40})", run.output))

    video = {"type": "resize-video", "queue": "video", "payload": {"file": "a.mp4"}}
    status, job = call(f"{url}/jobs", tokens["producer"], video)
    assert status == 201
    claim = {"worker_id": "worker-1", "queues": ["video"]}
    assert call(f"{url}/jobs/claim", tokens["worker"], claim)[1]["id"] == job["id"]
    with pytest.raises(HTTPError, match="403"):
        call(f"{url}/jobs", tokens["worker"], video)

    # A person decides: the charge whose worker was killed is tried again, and its key keeps it one charge.
    failed = call(f"{url}/jobs?status=failed&type=charge-card", tokens["operator"])[1]["results"]
    killed = next(job for job in failed if "stopped or lost" in job["error"])
    call(f"{url}/jobs/{killed['id']}/retry", tokens["operator"], {})
    wait_until(
        lambda: call(f"{url}/jobs/{killed['id']}", tokens["operator"])[1]["status"] == "completed",
        interval=0.2,
    )

    with urlopen(f"{url}/static/admin/css/base.css", timeout=30) as response:
        assert response.status == 200
    assert run.end(signal.SIGINT) == 0
    assert [pid for pid in run.workers() if is_alive(pid)] == []

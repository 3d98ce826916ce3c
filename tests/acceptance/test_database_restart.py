"""A database that goes away under a worker: the same process goes on, and no job is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dj_database_url
import pytest
from django.db import connection, connections

from django_jobqueue.models import Job
from tests.support.models import Effect
from tests.support.processes import wait_until
from tests.support.servers import MariaDBServer, PostgreSQLServer, Server

ROOT = Path(__file__).resolve().parents[2]

SERVERS = {"postgresql": PostgreSQLServer, "mysql": MariaDBServer}

pytestmark = pytest.mark.timeout(240)

if not connection.settings_dict["ENGINE"].endswith("sqlite3"):  # a file has no server to restart

    @pytest.fixture
    def server() -> Iterator[Server]:
        kind = SERVERS[connection.vendor]
        if reason := kind.missing():
            pytest.skip(reason)
        started = kind()
        try:
            yield started
        finally:
            started.remove()

    @pytest.fixture
    def alias(server: Server, django_db_blocker: Any) -> Iterator[str]:
        """A Django alias of the server, with the tables."""
        settings = {**connection.settings_dict, **dj_database_url.parse(server.url), "TEST": {}}
        settings["OPTIONS"] = dict(connection.settings_dict["OPTIONS"])
        connections.databases["own_server"] = settings
        assert manage(server, "migrate", "--run-syncdb", "-v0").wait(60) == 0
        with django_db_blocker.unblock():
            yield "own_server"
            connections["own_server"].close()
        del connections["own_server"]
        del connections.databases["own_server"]

    def manage(server: Server, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "DATABASE_URL": server.url,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "JOBQUEUE_TEST_DATABASE": "",
        }
        return subprocess.Popen([sys.executable, "manage.py", *arguments], cwd=ROOT, env=environment)

    @pytest.fixture
    def worker(
        server: Server, alias: str, request: pytest.FixtureRequest
    ) -> Iterator[subprocess.Popen[bytes]]:
        concurrency = f"--concurrency={getattr(request, 'param', 4)}"
        started = manage(
            server, "runworker", concurrency, "--poll-interval=0.1", "--lease=5", "--no-reload", "-v0"
        )
        yield started
        if started.poll() is None:
            started.kill()
        started.wait(10)

    def statuses(alias: str) -> Counter[str]:
        return Counter(Job.objects.using(alias).values_list("status", flat=True))

    def restart(server: Server, alias: str, down_for: float) -> None:
        connections[alias].close()
        server.stop()
        time.sleep(down_for)
        server.start()

    def test_an_idle_worker_outlives_a_restart(server, alias, worker):
        jobs = Job.objects.db_manager(alias)
        jobs.enqueue("test.effect")
        wait_until(lambda: statuses(alias)["completed"] == 1)
        restart(server, alias, 1.0)
        jobs.enqueue("test.effect")
        wait_until(lambda: statuses(alias) == {"completed": 2})
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0

    def test_a_busy_worker_outlives_a_restart_and_writes_the_ends_that_it_owes(server, alias, worker):
        jobs = Job.objects.db_manager(alias)
        # These need no database while they run, so their ends fall into the time without one.
        owed = jobs.enqueue_many([{"type": "test.rest", "payload": {"seconds": 1.0}, "priority": "high"}] * 4)
        jobs.enqueue_many([{"type": "test.effect", "max_retries": 20}] * 100)
        wait_until(lambda: statuses(alias)["running"] == 4)
        restart(server, alias, 2.0)
        wait_until(lambda: statuses(alias) == {"completed": 104}, timeout=60)
        first = Job.objects.using(alias).filter(pk__in=[item.job.pk for item in owed])
        assert set(first.values_list("fencing_token", "retry_count")) == {(1, 0)}
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0

    @pytest.mark.parametrize(
        "worker", [100], indirect=True
    )  # the async places are not used beyond the threads
    def test_a_hundred_async_handlers_that_end_without_a_database_are_written_once_it_is_back(
        server, alias, worker, tmp_path
    ):
        jobs = Job.objects.db_manager(alias)
        jobs.enqueue_many([{"type": "test.async_rest", "payload": {"folder": str(tmp_path)}}] * 100)
        wait_until(lambda: statuses(alias) == {"running": 100})
        connections[alias].close()
        server.stop()
        go = tmp_path / "go"
        go.touch()
        wait_until(lambda: len(list(tmp_path.iterdir())) == 101)
        time.sleep(2.0)  # the worker tries in vain to write the ends, and its leases are due for renewal
        server.start()
        wait_until(lambda: statuses(alias) == {"completed": 100}, timeout=60)
        ended = set(Job.objects.using(alias).values_list("fencing_token", "retry_count"))
        assert ended == {(1, 0)}
        assert len(list(tmp_path.iterdir())) == 101  # none ran twice
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0

    def test_a_restart_amid_many_short_jobs_loses_none(server, alias, worker):
        jobs = Job.objects.db_manager(alias)
        jobs.enqueue_many([{"type": "test.effect", "max_retries": 20, "payload": {"seconds": 0.005}}] * 400)
        wait_until(lambda: statuses(alias)["completed"] > 40)
        restart(server, alias, 0.5)
        wait_until(lambda: statuses(alias) == {"completed": 400}, timeout=60)
        assert Effect.objects.using(alias).values("job").distinct().count() == 400
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0

    def test_a_worker_without_a_database_stops_on_a_signal(server, alias, worker):
        Job.objects.db_manager(alias).enqueue("test.effect")
        wait_until(lambda: statuses(alias)["completed"] == 1)
        connections[alias].close()
        server.stop()
        time.sleep(0.5)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0

"""A connection is waited for within limits, and a machine that dies in a transaction holds no rows for hours."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import DatabaseError, connection, connections, transaction

from django_jobqueue.models import Job
from django_jobqueue.vendors import vendor_for
from django_jobqueue.workers import connections as worker_connections
from django_jobqueue.workers import upkeep
from tests.support.models import Effect
from tests.support.processes import wait_until
from tests.support.proxy import Proxy
from tests.support.rows import claimed, expire
from tests.support.workers import running

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(90)]


def test_stale_jobs_that_somebody_holds_are_told_of(caplog, monkeypatch):
    job = claimed()
    expire(job.pk)
    held = upkeep.Upkeep(Job.objects)
    monkeypatch.setattr(Job.objects, "reap", lambda limit: [])  # all rows are passed over
    for _ in range(8):
        held._reap_at = 0.0
        held.run()
    told = [record.getMessage() for record in caplog.records if "cannot be taken back" in record.getMessage()]
    assert len(told) == 2  # not at each look
    assert f"job {job.pk}" in told[0]


if not connection.settings_dict["ENGINE"].endswith("sqlite3"):

    @pytest.fixture
    def proxy(monkeypatch):
        settings = connection.settings_dict
        port = int(settings["PORT"] or {"postgresql": 5432, "mysql": 3306}[connection.vendor])
        started = Proxy(port)
        connection.close()
        given = connection.settings_dict
        connection.settings_dict = {**given, "HOST": "127.0.0.1", "PORT": str(started.port)}
        yield started
        connection.close()
        connection.settings_dict = given
        started.close()

    def answers() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone()[0] == 1)

    def test_the_workers_own_connection_gives_up_a_server_that_answers_nothing(proxy, monkeypatch):
        vendor = vendor_for(connection)
        monkeypatch.setattr(type(vendor), "answer_timeout", 1)
        with worker_connections.own("default"):
            assert answers()
            proxy.swallow_answers()
            began = time.monotonic()
            with pytest.raises(DatabaseError):
                answers()
            assert time.monotonic() - began < 20
            connection.close()
            proxy.pass_answers()
            assert answers()

    def test_the_workers_own_limits_are_those_of_no_other_thread(transactional_db):
        seen = []

        def look() -> None:
            seen.append(connection.settings_dict["OPTIONS"])

        before = dict(connection.settings_dict["OPTIONS"])
        with worker_connections.own("default"):
            assert "connect_timeout" in connection.settings_dict["OPTIONS"]
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
        assert seen == [before]
        assert connection.settings_dict["OPTIONS"] == before

    def die_in_a_transaction(job_id: int) -> threading.Event:
        """A connection that holds the job's row in a transaction and says nothing any more."""
        holds = threading.Event()

        def hold() -> None:
            worker_connections.prepare()
            try:
                with transaction.atomic():
                    Job.objects.select_for_update().get(pk=job_id)
                    holds.set()
                    time.sleep(20)
            except DatabaseError:
                pass
            finally:
                connections["default"].close()

        threading.Thread(target=hold, daemon=True).start()
        assert holds.wait(20)
        return holds

    def test_a_dead_handlers_transaction_gives_its_job_back(settings):
        settings.JOBQUEUE = {**settings.JOBQUEUE, "IDLE_TRANSACTION_TIMEOUT": 1, "REAP_INTERVAL": 0.5}
        job = claimed()
        expire(job.pk)
        began = time.monotonic()
        die_in_a_transaction(job.pk)
        with running():
            wait_until(lambda: Job.objects.get(pk=job.pk).status != "running")
        assert time.monotonic() - began < 15

    def test_the_workers_own_transactions_end_too(monkeypatch):
        monkeypatch.setattr(worker_connections, "_OWN_IDLE_TRANSACTION", 1)
        connection.close()
        with worker_connections.own("default"):
            with pytest.raises(DatabaseError), transaction.atomic():
                Effect.objects.create(name="held")
                time.sleep(2.5)
                Effect.objects.count()
            connection.close()
        assert not Effect.objects.exists()

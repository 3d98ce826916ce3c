"""What a lost database, a lost answer and a signal leave behind: nothing is counted wrong, nothing is kept."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError, connection

from django_jobqueue.jobs.manager import JobManager
from django_jobqueue.models import Job
from django_jobqueue.workers import connections as worker_connections
from django_jobqueue.workers import loop
from django_jobqueue.workers.pace import Pace
from tests.support.models import Effect
from tests.support.processes import wait_until
from tests.support.workers import running, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(90)]


@pytest.mark.parametrize("verb", ["exchange", "complete_claims"])
def test_a_batch_whose_answer_was_lost_is_counted_as_completed(monkeypatch, verb):
    original = getattr(JobManager, verb)
    lost = []

    def lose_answer(manager, claims, *rest, **options):
        answer = original(manager, claims, *rest, **options)
        if claims and not lost:
            lost.append(claims)
            raise OperationalError("the answer is lost")
        return answer

    monkeypatch.setattr(JobManager, verb, lose_answer)
    Job.objects.enqueue_many([{"type": "test.noop"}] * 5)
    drained = worker(drain=True) if verb == "exchange" else worker(max_jobs=5)
    assert drained.run() == 0
    assert lost
    # What the same lost answer had claimed comes back when its lease has run out.
    assert set(drained.counts) == {"completed"}
    assert drained.counts["completed"] == Job.objects.filter(status="completed").count() >= len(lost[0])


def test_a_worker_that_is_told_to_stop_gives_back_what_waits_in_line_at_once(monkeypatch, tmp_path):
    monkeypatch.setattr(loop, "_STALLED_AFTER", 3600.0)
    monkeypatch.setattr(Pace, "prefetch", 3)
    Job.objects.enqueue("test.until_go", {"folder": str(tmp_path)}, priority="high")
    started = worker(concurrency=1)
    thread = threading.Thread(target=started.run)
    thread.start()
    try:
        wait_until(lambda: Job.objects.filter(status="running").exists())
        Job.objects.enqueue_many([{"type": "test.noop"}] * 3)
        wait_until(lambda: Job.objects.filter(status="running").count() == 4)
        started.shutdown.request()
        wait_until(lambda: Job.objects.filter(status="running").count() == 1)
        left = Job.objects.filter(type="test.noop")
        assert set(left.values_list("status", "retry_count")) == {("pending", 0)}
    finally:
        (tmp_path / "go").touch()
        thread.join(20)
    assert set(started.counts) == {"completed", "released"}


if not connection.settings_dict["ENGINE"].endswith("sqlite3"):  # a file cannot be lost like a server
    OTHERS = {
        "postgresql": "SELECT pid FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
        "mysql": "SELECT id FROM information_schema.processlist "
        "WHERE db = database() AND id <> connection_id()",
    }
    END = {"postgresql": "SELECT pg_terminate_backend(%s)", "mysql": "KILL %s"}

    def test_threads_are_told_of_a_lost_database_and_ask_their_connections(monkeypatch):
        monkeypatch.setattr(worker_connections, "_TRUSTED_FOR", 3600.0)
        with running(concurrency=1):
            first = Job.objects.enqueue("test.effect")
            wait_until(lambda: Job.objects.get(pk=first.pk).status == "completed")
            with connection.cursor() as cursor:
                cursor.execute(OTHERS[connection.vendor])
                for (pid,) in cursor.fetchall():
                    cursor.execute(END[connection.vendor], [pid])
            second = Job.objects.enqueue("test.effect")
            wait_until(lambda: Job.objects.get(pk=second.pk).status == "completed")
        assert Job.objects.get(pk=second.pk).retry_count == 0
        assert Effect.objects.count() == 2

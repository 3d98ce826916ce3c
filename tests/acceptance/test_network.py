"""A network that freezes, drops one way, drops answers or closes between a worker and its database."""

from __future__ import annotations

import signal
from collections import Counter
from typing import Any

import pytest
from django.db import connection

from django_jobqueue.models import Job
from tests.support import child
from tests.support.models import Effect
from tests.support.processes import kill, wait_until
from tests.support.proxy import Proxy

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]

FAULTS = {
    "freezes": ("freeze", "thaw"),
    "drops what is asked": ("swallow_questions", "pass_answers"),
    "drops answers": ("swallow_answers", "pass_answers"),
    "closes": ("refuse", "listen"),
}

if not connection.settings_dict["ENGINE"].endswith("sqlite3"):  # a file has no network before it

    @pytest.fixture
    def proxy():
        settings = connection.settings_dict
        started = Proxy(int(settings["PORT"] or {"postgresql": 5432, "mysql": 3306}[connection.vendor]))
        yield started
        started.close()

    def statuses() -> Counter[str]:
        return Counter(Job.objects.values_list("status", flat=True))

    def start(processes: Any, proxy: Proxy, **options: Any) -> Any:
        return processes.start(
            child.run_distant_worker, proxy.port, poll_interval=0.05, lease=4.0, concurrency=4, **options
        )

    @pytest.mark.parametrize("fault", FAULTS)
    def test_no_job_is_lost_and_no_atomic_effect_happens_twice(processes, proxy, fault):
        Job.objects.enqueue_many(
            [{"type": "test.atomic_step", "max_retries": 50, "payload": {"seconds": 0.02}}] * 300
        )
        worker = start(processes, proxy)
        wait_until(lambda: statuses()["completed"] >= 20)
        begin, end = FAULTS[fault]
        getattr(proxy, begin)()
        # With nobody else there: another worker takes over what this one holds, within a bounded time.
        other = processes.worker(poll_interval=0.05, lease=4.0, concurrency=4)
        wait_until(lambda: statuses() == {"completed": 300}, timeout=90)
        getattr(proxy, end)()
        late = Job.objects.enqueue("test.atomic_step", queue="late")
        kill(other, signal.SIGTERM)
        other.join(30)
        assert other.exitcode == 0
        wait_until(lambda: Job.objects.get(pk=late.pk).status == "completed", timeout=60)
        effects = Counter(Effect.objects.values_list("job", flat=True))
        assert len(effects) == 301
        assert set(effects.values()) == {1}
        assert statuses() == {"completed": 301}  # late ends changed nothing
        kill(worker, signal.SIGTERM)
        worker.join(30)
        assert worker.exitcode == 0

    @pytest.mark.parametrize("fault", FAULTS)
    @pytest.mark.parametrize("state", ["idle", "busy"])
    def test_a_worker_stops_on_a_signal_whatever_the_network_does(processes, proxy, fault, state):
        if state == "busy":
            Job.objects.enqueue_many([{"type": "test.atomic_step", "payload": {"seconds": 0.02}}] * 300)
        else:
            Job.objects.enqueue("test.atomic_step")
        worker = start(processes, proxy, shutdown_timeout=1.0)
        wait_until(lambda: statuses()["completed"])
        getattr(proxy, FAULTS[fault][0])()
        kill(worker, signal.SIGTERM)
        worker.join(30)
        assert worker.exitcode in (0, 1)
        assert worker.exitcode is not None

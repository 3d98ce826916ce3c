"""For celery: a module that its worker imports."""

from __future__ import annotations

import os

from celery import Celery

from benchmarks.harness.counter import note

app = Celery("peers", broker=os.environ["PEER_REDIS_URL"])
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=64,
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="noop")
def noop() -> None:
    note()

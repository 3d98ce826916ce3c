"""One run of the demo, from the empty queue to the evidence."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from django.conf import settings
from django.db import DatabaseError

from django_jobqueue.exceptions import JobQueueError
from django_jobqueue.jobs.queryset import JobQuerySet
from django_jobqueue.jobs.status import FINISHED
from django_jobqueue.models import Job
from example_project.demo.enqueue import charge_key, enqueue_all, event_key
from example_project.demo.gateway import Gateway
from example_project.demo.gather import gather
from example_project.demo.load import draw_images, load_orders
from example_project.demo.report import Evidence
from example_project.demo.web_hook import WebHook
from example_project.demo.worker import WorkerProcess

LEASE_SECONDS = 3
REAP_SECONDS = 1
STEP_SECONDS = 90.0


class StepError(Exception):
    """A step of the demo did not do what it should; the message says what to look at."""


class Run:
    """A run with a queue, orders and keys of its own, so that no other run meets it.

    ``play`` does it all. The gateway and the web hook answer until the ``with`` block ends. After the block
    no process or server of the run is left; if it ended early, its unfinished jobs are cancelled.
    """

    def __init__(self, say: Callable[[str], None], pause: Callable[[float], None] = time.sleep) -> None:
        self._say = say
        self._pause = pause
        self.name = secrets.token_hex(3)
        self.queue = f"demo-{self.name}"
        self.environment: dict[str, str] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._stack.close()
        finally:
            if kind is not None:
                self._cancel_rest()

    def play(self) -> Evidence:
        """Load, enqueue twice, work, kill, work on; returns what came of it."""
        orders = load_orders(self.name)
        folders = draw_images(self.name)
        self._say(f"Loaded {len(orders)} orders and drew images into {len(folders)} folders.")

        gateway = self._stack.enter_context(
            Gateway(
                refuse=[charge_key(orders[2])],
                drop=[charge_key(orders[8])],
                hold=charge_key(orders[5]),
            )
        )
        web_hook = self._stack.enter_context(WebHook(hold=event_key(orders[0])))
        self.environment = {
            "SHOP_GATEWAY_URL": gateway.url,
            "SHOP_WEBHOOK_URL": web_hook.url,
            "SHOP_REAP_INTERVAL": str(REAP_SECONDS),
        }
        self._say(f"Started a flaky card gateway at {gateway.url}")
        self._say(f"and a web hook that fails twice for each event at {web_hook.url}")

        enqueued = enqueue_all(self.queue, orders, folders)
        repeated = enqueue_all(self.queue, orders, folders)
        self._say(f"Enqueued {len(enqueued)} jobs, and the same once more with the same keys.")

        failures = []
        try:
            self._work(gateway, web_hook)
        except StepError as failure:
            failures.append(str(failure))
        return gather(
            run=self.name,
            queue=self.queue,
            enqueued=enqueued,
            repeated=repeated,
            folders=folders,
            gateway=gateway,
            web_hook=web_hook,
            failures=failures,
        )

    def start_worker(self, number: str, *options: str) -> WorkerProcess:
        """A worker process that ends with the ``with`` block at the latest."""
        return self._stack.enter_context(
            WorkerProcess(
                f"demo-{self.name}-{number}",
                *options,
                log=Path(settings.VAR_DIR) / "log" / f"demo-{self.name}-{number}.log",
                environment=self.environment,
            )
        )

    def _work(self, gateway: Gateway, web_hook: WebHook) -> None:
        options = [
            f"--queues={self.queue}",
            "--concurrency=4",
            f"--lease={LEASE_SECONDS}",
            "--poll-interval=0.1",
        ]
        one = self.start_worker("one", *options)
        # Requests that are held would hold up the worker's orderly end, should it come to that.
        self._stack.callback(gateway.release)
        self._stack.callback(web_hook.release)
        self._say(f"Started worker one (pid {one.pid}).")

        def in_the_middle() -> bool:
            charges = self._unfinished().filter(type="charge-card").count()
            return gateway.holding.is_set() and web_hook.holding.is_set() and charges == 1

        self._wait(in_the_middle, one, "come to the middle of its work")
        running = self._unfinished().filter(status="running").count()
        left = self._unfinished().count() - running
        one.kill()
        gateway.release()
        web_hook.release()
        self._say(f"Killed it with SIGKILL: {running} jobs ran, one of them a charge, and {left} waited.")

        two = self.start_worker("two", *options)
        self._say(
            f"Started worker two (pid {two.pid}); it takes over when the leases of {LEASE_SECONDS} s run out."
        )
        self._wait(lambda: not self._unfinished().exists(), two, "end all jobs")
        if code := two.stop():
            raise StepError(f"Worker two stopped with exit code {code}; its output is in {two.log}.")
        self._say("Stopped worker two: nothing was left to do.")

    def _unfinished(self) -> JobQuerySet:
        return Job.objects.get_queryset().filter(queue=self.queue).exclude(status__in=FINISHED)

    def _wait(self, condition: Callable[[], bool], worker: WorkerProcess, what: str) -> None:
        end = time.monotonic() + STEP_SECONDS
        while not condition():
            if (code := worker.exit_code) is not None:
                raise StepError(
                    f"Worker {worker.name} ended with {code} by itself; its output is in {worker.log}."
                )
            if time.monotonic() > end:
                raise StepError(
                    f"Worker {worker.name} did not {what} in {STEP_SECONDS:.0f} s; look at {worker.log} "
                    "and run the demo again on a machine that is less busy."
                )
            self._pause(0.05)

    def _cancel_rest(self) -> None:
        with suppress(DatabaseError):
            for job in self._unfinished():
                with suppress(JobQueueError):
                    Job.objects.cancel(job.pk)

"""Run jobs until told to stop."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings as django_settings
from django.core.management.base import CommandError
from django.db import DatabaseError, connections

from django_jobqueue import registry
from django_jobqueue.checks import database_problems
from django_jobqueue.conf import settings
from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs import limits
from django_jobqueue.management.database import NOT_MIGRATED, DatabaseCommand, sentence
from django_jobqueue.models import Job
from django_jobqueue.vendors import vendor_for
from django_jobqueue.workers.loop import Worker
from django_jobqueue.workers.options import WorkerOptions, default_worker_id
from django_jobqueue.workers.pace import MOST
from django_jobqueue.workers.processes import run_processes
from django_jobqueue.workers.reload import run_reloading
from django_jobqueue.workers.watchdog import GRACE, leave_within

OUTCOMES = ("completed", "retried", "failed", "cancelled", "released", "lost")


class Command(DatabaseCommand):
    help = (
        "Run jobs until told to stop. SIGTERM or SIGINT: finish what runs; once more: give it back and exit."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--queues", help="Comma-separated queues to serve (default: all).")
        parser.add_argument("--exclude-queues", help="Comma-separated queues not to serve.")
        parser.add_argument(
            "--concurrency", type=int, default=4, help="Jobs at once in a process (default: 4)."
        )
        parser.add_argument(
            "--async-concurrency",
            type=int,
            default=100,
            help="Async jobs at once in a process (default: 100).",
        )
        parser.add_argument(
            "--prefetch",
            type=int,
            help="Most jobs that may wait in a process for a free place; 0 for none (default: by their pace).",
        )
        parser.add_argument("--processes", type=int, default=1, help="Worker processes (default: 1).")
        parser.add_argument("--worker-id", help="Name in the jobs' rows (default: host, pid, random part).")
        parser.add_argument(
            "--poll-interval", type=float, help="Longest wait between two looks at an idle queue, in seconds."
        )
        parser.add_argument("--lease", type=float, help="Lease of a claim in seconds, renewed at a third.")
        parser.add_argument("--drain", action="store_true", help="Exit when nothing is left to run.")
        parser.add_argument("--max-jobs", type=int, help="Exit after this many jobs in a process.")
        parser.add_argument(
            "--shutdown-timeout", type=float, help="Seconds that running jobs get to finish after a signal."
        )
        parser.add_argument(
            "--reload",
            action="store_true",
            default=None,
            help="Restart when code changes (default with DEBUG).",
        )
        parser.add_argument(
            "--no-reload", action="store_false", dest="reload", help="Never restart by itself."
        )
        parser.add_argument("--json", action="store_true", help="Print the summary as JSON.")

    def run_from_argv(self, argv: list[str]) -> None:
        super().run_from_argv(argv)
        leave_within(GRACE, 0)  # this command is all that the process was there for

    def handle(self, *args: Any, **options: Any) -> None:
        self._refuse_patched_threads()
        worker_options = self._worker_options(options)
        processes = self._number("--processes", options["processes"], 1, 256)
        self._check_database(drain=worker_options.drain)
        if options["verbosity"] >= 1 and not options["json"]:
            queues = "all queues" if worker_options.queues is None else ", ".join(worker_options.queues)
            self.stdout.write(
                f"Worker {worker_options.worker_id} runs {queues}, "
                f"{processes} x {worker_options.concurrency} at once. Stop it with Ctrl-C."
            )
            self.stdout.flush()
        reload = django_settings.DEBUG if options["reload"] is None else options["reload"]
        if processes > 1:
            code = run_processes(
                lambda number: self._work(self._numbered(worker_options, number, options), options),
                processes,
                worker_options.shutdown_timeout,
            )
        else:
            code = self._work(worker_options, options, reload=reload)
        if code:
            # Handlers that would not end still hold threads; waiting for them is what was ruled out.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _work(self, worker_options: WorkerOptions, options: dict[str, Any], *, reload: bool = False) -> int:
        worker = Worker(Job.objects, worker_options)
        code = run_reloading(worker) if reload else worker.run()
        if options["json"]:
            summary = {
                "worker_id": worker_options.worker_id,
                **{name: worker.counts[name] for name in OUTCOMES},
            }
            self.stdout.write(json.dumps(summary))
        elif options["verbosity"] >= 1:
            counts = ", ".join(f"{worker.counts[name]} {name}" for name in OUTCOMES if worker.counts[name])
            self.stdout.write(f"Worker {worker_options.worker_id} stopped: {counts or 'no jobs'}.")
        return code

    def _numbered(self, base: WorkerOptions, number: int, options: dict[str, Any]) -> WorkerOptions:
        given = options["worker_id"]
        return dataclasses.replace(base, worker_id=f"{given}-{number}" if given else default_worker_id())

    def _worker_options(self, options: dict[str, Any]) -> WorkerOptions:
        conf = settings()
        queues = self._queues("--queues", options["queues"])
        excluded = self._queues("--exclude-queues", options["exclude_queues"]) or ()
        if queues is not None and not set(queues) - set(excluded):
            raise CommandError("--exclude-queues leaves nothing of --queues to serve.")
        lease = conf.LEASE_SECONDS if options["lease"] is None else options["lease"]
        poll = conf.POLL_INTERVAL if options["poll_interval"] is None else options["poll_interval"]
        timeout = (
            conf.SHUTDOWN_TIMEOUT if options["shutdown_timeout"] is None else options["shutdown_timeout"]
        )
        max_jobs = options["max_jobs"]
        prefetch = (
            MOST if options["prefetch"] is None else self._number("--prefetch", options["prefetch"], 0, MOST)
        )
        try:
            worker_id = options["worker_id"]
            if worker_id is not None:
                limits.check_text("--worker-id", worker_id, limits.WORKER_ID_LENGTH - 4)
            return WorkerOptions(
                worker_id=worker_id or default_worker_id(),
                queues=queues,
                exclude_queues=excluded,
                concurrency=self._number("--concurrency", options["concurrency"], 1, 1000),
                async_concurrency=self._async_concurrency(options["async_concurrency"]),
                prefetch=prefetch,
                lease_seconds=limits.check_seconds("--lease", lease, 1, 604800),
                poll_interval=limits.check_seconds("--poll-interval", poll, 0.005, 60),
                shutdown_timeout=limits.check_seconds("--shutdown-timeout", timeout, 0, 86400),
                drain=options["drain"],
                isolate_lost=hasattr(os, "fork"),
                max_jobs=None if max_jobs is None else self._number("--max-jobs", max_jobs, 1, 10**9),
            )
        except InvalidJob as error:
            raise CommandError(str(error)) from None

    def _queues(self, option: str, value: str | None) -> tuple[str, ...] | None:
        if value is None:
            return None
        names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
        if not names:
            raise CommandError(f"{option}: names no queue.")
        try:
            return tuple(limits.check_text(option, name, limits.QUEUE_LENGTH) for name in names)
        except InvalidJob as error:
            raise CommandError(str(error)) from None

    def _async_concurrency(self, value: int) -> int:
        places = self._number("--async-concurrency", value, 0, 10_000)
        types = [
            handler.type
            for handler in registry.handlers()
            if handler.is_async and not handler.type.startswith(registry.OWN_PREFIX)
        ]
        if not places and types:
            raise CommandError(f"--async-concurrency is 0, but the handler of {types[0]!r} is async.")
        return places

    def _number(self, option: str, value: int, low: int, high: int) -> int:
        try:
            return limits.check_integer(option, value, low, high)
        except InvalidJob as error:
            raise CommandError(str(error)) from None

    def _refuse_patched_threads(self) -> None:
        """Leases are renewed while handlers run, by a thread of the system's; a patched one waits for its turn."""
        for patcher, asks in (
            ("gevent.monkey", "is_module_patched"),
            ("eventlet.patcher", "is_monkey_patched"),
        ):
            module = sys.modules.get(patcher)
            name = "threading" if patcher == "gevent.monkey" else "thread"
            if module is not None and getattr(module, asks)(name):
                raise CommandError(
                    f"{patcher} has replaced Python's threads, and a worker cannot work with such: while one handler "
                    "computes, no lease is renewed. Start workers without monkey-patching."
                )

    def _check_database(self, *, drain: bool) -> None:
        """Refuse to start on a database that cannot keep the promises; a drain waits for none that is away."""
        alias = Job.objects.write_alias
        try:
            errors = [problem for problem in database_problems(alias) if problem.is_serious()]
            if not errors and Job._meta.db_table not in connections[alias].introspection.table_names():
                raise CommandError(NOT_MIGRATED)
        except DatabaseError as error:
            if vendor_for(connections[alias]).is_refusal(error):
                raise CommandError(f"The jobs' database cannot be used: {sentence(error)}") from None
            if drain:
                raise CommandError(f"The jobs' database does not answer: {sentence(error)}") from None
            self.stderr.write(f"The jobs' database does not answer ({error}); the worker waits for it.")
            return
        if errors:
            raise CommandError("\n".join(str(problem.msg) for problem in errors))

"""Take jobs from workers that are gone."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import CommandError

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs.pending.claim_once import forget_requests
from django_jobqueue.logs import inert
from django_jobqueue.management.database import DatabaseCommand, errors_in_a_sentence
from django_jobqueue.models import Job


class Command(DatabaseCommand):
    help = "Retry or fail running jobs whose lease has run out. Workers do this by themselves, too."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than",
            type=float,
            metavar="SECONDS",
            help="Go by the age of the claim instead of the lease; takes jobs from live workers, too.",
        )
        parser.add_argument("--dry-run", action="store_true", help="Only say what would be done.")
        parser.add_argument("--json", action="store_true", help="Print the summary as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        older_than = options["older_than"]
        try:
            with errors_in_a_sentence():
                counts = self._reap(older_than, options)
        except InvalidJob as error:
            raise CommandError(f"--{str(error).replace('_', '-')}") from None
        if options["json"]:
            self.stdout.write(json.dumps({"dry_run": options["dry_run"], **counts}))
        elif options["verbosity"] >= 1:
            self.stdout.write(self._sentence(counts, options["dry_run"]))

    def _reap(self, older_than: float | None, options: dict[str, Any]) -> Counter[str]:
        if options["dry_run"]:
            stale = Job.objects.list_stale(older_than=older_than).without_payloads()
            return Counter({"stale": stale.count()})
        counts: Counter[str] = Counter()
        for batch in Job.objects.reap_batches(older_than=older_than):
            counts.update(str(job.status) for job in batch)
            for job in batch if options["verbosity"] >= 2 else ():
                self.stdout.write(f"Job {job.pk} ({inert(job.type)}) is {job.status} now.")
        forget_requests(Job.objects)
        return counts

    def _sentence(self, counts: Counter[str], dry_run: bool) -> str:
        if dry_run:
            return f"{counts['stale']} stale jobs would be reaped."
        if not counts:
            return "No stale jobs."
        listed = ", ".join(f"{number} now {status}" for status, number in sorted(counts.items()))
        return f"{counts.total()} stale jobs reaped: {listed}."

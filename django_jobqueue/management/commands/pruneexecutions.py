"""Delete executions that ended long ago from the ledger."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Min

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.models import Job, JobExecution


class Command(BaseCommand):
    help = (
        "Delete executions that ended long ago, in small transactions. Those that a job of the table may still "
        "ask for stay, and so does what is in doubt."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than",
            type=float,
            default=90.0,
            metavar="DAYS",
            help="Days since the execution ended (default: 90).",
        )
        parser.add_argument("--batch-size", type=int, default=500, help="Rows a transaction (default: 500).")
        parser.add_argument("--dry-run", action="store_true", help="Only say how many would be deleted.")
        parser.add_argument("--json", action="store_true", help="Print the summary as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        # A completed job never runs again. Any other may, a failed one when a person retries it.
        may_run = Job.objects.using(Job.objects.write_alias).exclude(status="completed")
        oldest = may_run.aggregate(oldest=Min("created_at"))["oldest"]
        chosen = {"older_than": options["older_than"] * 86400, "begun_before": oldest}
        try:
            if options["dry_run"]:
                count = JobExecution.objects.count_prunable(**chosen)
            else:
                count = JobExecution.objects.prune(**chosen, batch_size=options["batch_size"])
        except InvalidJob as error:
            raise CommandError(f"--{str(error).replace('_', '-')}") from None
        if options["json"]:
            self.stdout.write(json.dumps({"dry_run": options["dry_run"], "pruned": count}))
        elif options["verbosity"] >= 1:
            what = "would be" if options["dry_run"] else "were"
            self.stdout.write(f"{count} executions {what} deleted.")

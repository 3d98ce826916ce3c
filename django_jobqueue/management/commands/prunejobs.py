"""Delete jobs that ended long ago."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.jobs.status import FINISHED
from django_jobqueue.models import Job


class Command(BaseCommand):
    help = "Delete jobs that ended long ago, with their attempts, in small transactions beside busy workers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than", type=float, required=True, metavar="DAYS", help="Days since the job ended."
        )
        parser.add_argument(
            "--status",
            action="append",
            choices=[str(status) for status in FINISHED],
            help="Only jobs that ended so; may be given more than once (default: all three).",
        )
        parser.add_argument("--batch-size", type=int, default=500, help="Jobs a transaction (default: 500).")
        parser.add_argument("--dry-run", action="store_true", help="Only say how many would be deleted.")
        parser.add_argument("--json", action="store_true", help="Print the summary as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = {"older_than": options["older_than"] * 86400, "statuses": options["status"] or FINISHED}
        try:
            if options["dry_run"]:
                count = Job.objects.count_prunable(**chosen)
            else:
                count = Job.objects.prune(**chosen, batch_size=options["batch_size"])
        except InvalidJob as error:
            raise CommandError(f"--{str(error).replace('_', '-')}") from None
        if options["json"]:
            self.stdout.write(json.dumps({"dry_run": options["dry_run"], "pruned": count}))
        elif options["verbosity"] >= 1:
            what = "would be" if options["dry_run"] else "were"
            self.stdout.write(f"{count} jobs {what} deleted.")

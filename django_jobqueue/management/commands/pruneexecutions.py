"""Delete executions that ended long ago from the ledger."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.db.models import Min

from django_jobqueue.management.prune import PruneCommand
from django_jobqueue.models import Job, JobExecution


class Command(PruneCommand):
    help = (
        "Delete executions that ended long ago, in small transactions. Those that a job of the table may still "
        "ask for stay, and so does what is in doubt."
    )
    manager = JobExecution.objects
    noun = "executions"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than",
            type=float,
            default=90.0,
            metavar="DAYS",
            help="Days since the execution ended (default: 90).",
        )
        super().add_arguments(parser)

    def chosen(self, options: dict[str, Any]) -> dict[str, Any]:
        # A completed job never runs again. Any other may, a failed one when a person retries it.
        may_run = Job.objects.using(Job.objects.write_alias).exclude(status="completed")
        oldest = may_run.aggregate(oldest=Min("created_at"))["oldest"]
        return {"older_than": options["older_than"] * 86400, "begun_before": oldest}

"""Delete jobs that ended long ago."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django_jobqueue.jobs.status import FINISHED
from django_jobqueue.management.prune import PruneCommand
from django_jobqueue.models import Job


class Command(PruneCommand):
    help = "Delete jobs that ended long ago, with their attempts, in small transactions beside busy workers."
    manager = Job.objects
    noun = "jobs"

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
        super().add_arguments(parser)

    def chosen(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"older_than": options["older_than"] * 86400, "statuses": options["status"] or FINISHED}

"""What the commands that delete old rows have in common."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from django_jobqueue.exceptions import InvalidJob
from django_jobqueue.management.database import DatabaseCommand, errors_in_a_sentence


class PruneCommand(DatabaseCommand):
    """Deletes, or with ``--dry-run`` counts, what ``manager`` calls prunable among what was ``chosen``."""

    manager: Any
    noun: str
    """What the rows are called, in the plural."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--batch-size", type=int, default=500, help=f"{self.noun.title()} a transaction (default: 500)."
        )
        parser.add_argument("--dry-run", action="store_true", help="Only say how many would be deleted.")
        parser.add_argument("--json", action="store_true", help="Print the summary as JSON.")

    def chosen(self, options: dict[str, Any]) -> dict[str, Any]:
        """The arguments of the manager's ``prune`` and ``count_prunable``."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        summary: dict[str, Any] = {"dry_run": options["dry_run"]}
        kept = 0
        try:
            with errors_in_a_sentence():
                chosen = self.chosen(options)
                if options["dry_run"]:
                    count = self.manager.count_prunable(**chosen)
                else:
                    count = self.manager.prune(**chosen, batch_size=options["batch_size"])
                    kept = summary["kept"] = count.kept
        except InvalidJob as error:
            raise CommandError(f"--{str(error).replace('_', '-')}") from None
        if options["json"]:
            self.stdout.write(json.dumps({**summary, "pruned": count}))
        elif options["verbosity"] >= 1:
            what = "would be" if options["dry_run"] else "were"
            stay = f" {kept} stay: other rows of the project refer to them." if kept else ""
            self.stdout.write(f"{count} {self.noun} {what} deleted.{stay}")

"""See real jobs run, and survive the death of their worker."""

from __future__ import annotations

import sys
import threading
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand
from django.core.servers.basehttp import ThreadedWSGIServer
from django.db import DatabaseError, connection

from example_project.demo import serve
from example_project.demo.interruption import Interruption
from example_project.demo.report import render, verdict
from example_project.demo.run import Run

ADDRESS = "127.0.0.1:8000"


class Command(BaseCommand):
    help = (
        "Enqueue a shop's jobs twice, run them, kill the worker in the middle, and count what came of it. "
        "Exit code 0 and 'lost 0' as the last line: no job was lost, no keyed effect happened twice."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--serve",
            nargs="?",
            const=ADDRESS,
            metavar="HOST:PORT",
            help=f"Afterwards serve the admin and the HTTP API ({ADDRESS}), with a user for each role.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        server = serve.bind(options["serve"]) if options["serve"] else None
        try:
            with Interruption() as self._interruption:
                code = self._demo(server)
        except KeyboardInterrupt:
            self.stderr.write("\nStopped. No process is left; the demo's unfinished jobs are cancelled.")
            code = 130
        finally:
            if server is not None:
                server.server_close()
        if code:
            sys.exit(code)

    def _demo(self, server: ThreadedWSGIServer | None) -> int:
        self._migrate()
        with Run(self._say, self._interruption.pause) as run:
            evidence = run.play()
            line, code = verdict(evidence)
            self._say(f"\n{render(evidence)}\n\n{self._where_to_look(server is None)}\n{line}")
            if server is not None and code == 0:
                self._serve(run, server)
        return code

    def _say(self, text: str) -> None:
        self._interruption.check()
        self.stdout.write(text)
        self.stdout.flush()

    def _migrate(self) -> None:
        try:
            call_command("migrate", verbosity=0, interactive=False)
        except DatabaseError as error:
            raise CommandError(
                f"The database cannot be set up: {str(error).strip()}\n"
                "Check that its server runs and that DATABASE_URL names a database that exists; "
                "without DATABASE_URL the demo uses a SQLite file."
            ) from None
        name = connection.settings_dict["NAME"]
        self._say(f"Migrated the database {_relative(name)} ({connection.display_name}).")

    def _where_to_look(self, offer: bool) -> str:
        mails = f"Invoices: {_relative(settings.SHOP_MAIL_DIR)}/*.eml (a mail program opens them)"
        if not offer:
            return mails
        python = _relative(sys.executable)
        return f"{mails}\nAdmin:    {python} {_relative(sys.argv[0])} demo --serve"

    def _serve(self, run: Run, server: ThreadedWSGIServer) -> None:
        worker = run.start_worker("three", f"--exclude-queues={serve.OUTSIDE_QUEUE}")
        host, port = server.server_address[:2]
        self._say(f"\nStarted worker three (pid {worker.pid}).")
        self._say(serve.describe(f"http://{host!s}:{port}", serve.create_accounts()))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            while True:
                self._interruption.pause(0.1)
        except KeyboardInterrupt:
            self.stdout.write("\nStopped.")
        finally:
            server.shutdown()


def _relative(path: str | Path) -> str:
    """``path`` as one would type it here: relative if it lies below the current folder."""
    path = Path(path)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)

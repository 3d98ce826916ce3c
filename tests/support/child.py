"""What a test's process does first: Django, on the database of the test."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connections  # noqa: E402


def main(database: str, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Run ``function`` on the test database ``database``; its return value, if an integer, is the exit code."""
    connections["default"].settings_dict["NAME"] = database
    result = function(*args, **kwargs)
    sys.exit(result if isinstance(result, int) else 0)


def run_worker(**options: Any) -> None:
    """The ``runworker`` command, with quick upkeep."""
    settings.JOBQUEUE = {**settings.JOBQUEUE, "REAP_INTERVAL": 0.5, "PROMOTE_INTERVAL": 0.1}
    call_command("runworker", **{"reload": False, "verbosity": 0, **options})


def run_full_buffer(size: int, number: int, log: str = "", **options: Any) -> None:
    """``runworker`` that sends itself a signal once ``size`` ends wait in its buffer, just before it writes."""
    import logging

    from django_jobqueue.workers.acks import Acks

    if log:
        logging.getLogger("django_jobqueue.worker").addHandler(logging.FileHandler(log))
    completions = Acks.completions

    def strike(acks: Acks) -> Any:
        if len(acks):
            while len(acks) < size:
                time.sleep(0.01)
            Acks.completions = completions
            os.kill(os.getpid(), number)
        return completions(acks)

    Acks.completions = strike
    run_worker(**options)

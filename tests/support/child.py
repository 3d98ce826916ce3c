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


def run_blocked_worker(log: str, **options: Any) -> None:
    """``runworker`` whose database answers nothing any more once ``log`` with ``.block`` behind it is there.

    Like a driver that waits in C, the wait comes back on no signal.
    """
    import ctypes
    import logging
    from pathlib import Path

    from django_jobqueue.workers.listener import Listener

    logging.getLogger("django_jobqueue.worker").addHandler(logging.FileHandler(log))
    attend = Listener.attend

    def block(listener: Listener) -> None:
        attend(listener)
        if Path(f"{log}.block").exists():
            Path(f"{log}.blocked-{os.getpid()}").touch()
            sleep = ctypes.CDLL(None).sleep
            while left := sleep(3600):  # comes back early on a signal, and is called again
                assert left
                ctypes.CDLL(None).sleep(3600)

    Listener.attend = block  # type: ignore[method-assign]
    run_worker(**options)


def run_leaving_command(log: str, **options: Any) -> None:
    """``manage.py runworker`` as the process's own command."""
    import logging

    from django_jobqueue.management.commands.runworker import Command

    logging.getLogger("django_jobqueue.worker").addHandler(logging.FileHandler(log))
    arguments = [
        f"--{name.replace('_', '-')}={value}" for name, value in options.items() if value is not True
    ]
    arguments += [f"--{name.replace('_', '-')}" for name, value in options.items() if value is True]
    Command().run_from_argv(["manage.py", "runworker", "--no-reload", *arguments])
    import threading

    threading._shutdown()  # type: ignore[attr-defined]  # what Python does at a process's end


def run_distant_worker(port: int, **options: Any) -> None:
    """``runworker`` that reaches its database by this port, and is as impatient as a test."""
    from django_jobqueue.vendors.base import Vendor

    for name in connections:
        connections.databases[name].update(HOST="127.0.0.1", PORT=str(port))
    Vendor.answer_timeout = 3
    settings.JOBQUEUE = {**settings.JOBQUEUE, "IDLE_TRANSACTION_TIMEOUT": 2}
    run_worker(**options)

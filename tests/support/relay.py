"""A worker process with outbox options of the test's."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from tests.support import child


def run_relay(jobqueue: dict[str, Any], **options: Any) -> None:
    """The ``runworker`` command, with these options of ``JOBQUEUE``."""
    settings.JOBQUEUE = {**settings.JOBQUEUE, **jobqueue}
    child.run_worker(**options)

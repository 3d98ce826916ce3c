"""Signals of a job's life. All are sent robustly: a receiver that raises is logged and harms no job.

========================  =======================================================================
signal                    arguments (``sender`` is always ``Job``)
========================  =======================================================================
``job_enqueued``          ``job_id``, ``type``, ``queue``: after the row was inserted, inside the
                          caller's transaction
``job_started``           ``job`` (a ``RunningJob``), in the thread that runs the handler
``job_finished``          ``job`` (a ``RunningJob``), ``outcome`` (``completed``, ``failed``,
                          ``retried``, ``cancelled`` or ``released``), after the
                          database took it
========================  =======================================================================
"""

from __future__ import annotations

import logging
from typing import Any

from django.dispatch import Signal

logger = logging.getLogger("django_jobqueue")

job_enqueued = Signal()
job_started = Signal()
job_finished = Signal()


def send(signal: Signal, sender: type[Any], **arguments: Any) -> None:
    """Send robustly and log what a receiver raised; costs one look-up when nobody listens."""
    if not signal.receivers:
        return
    for receiver, response in signal.send_robust(sender, **arguments):
        if isinstance(response, Exception):
            logger.error("Signal receiver %r raised %r", receiver, response, exc_info=response)

"""Signals of a job's life. All are sent robustly: whatever a receiver raises is logged and harms no job.

========================  =======================================================================
signal                    arguments (``sender`` is always ``Job``)
========================  =======================================================================
``job_enqueued``          ``job_id``, ``type``, ``queue``: after the row was inserted, inside the
                          caller's transaction
``job_started``           ``job`` (a ``RunningJob``), in the thread that runs the handler
``job_finished``          ``job`` (a ``RunningJob``), ``outcome`` (``completed``, ``failed``,
                          ``retried``, ``cancelled`` or ``released``), after the
                          database took it, in a thread of its own
========================  =======================================================================
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from asgiref.sync import async_to_sync
from django.dispatch import Signal

from django_jobqueue.exceptions import Interruption

logger = logging.getLogger("django_jobqueue")

job_enqueued = Signal()
job_started = Signal()
job_finished = Signal()


def send(signal: Signal, sender: type[Any], **arguments: Any) -> None:
    """Send to every receiver, and log what one raised; costs one look-up when nobody listens.

    ``Signal.send_robust`` lets through what is no ``Exception``, such as ``SystemExit``.
    """
    if not signal.receivers:
        return
    synchronous, asynchronous = signal._live_receivers(sender)
    for receiver in synchronous:
        _call(receiver, receiver, signal=signal, sender=sender, **arguments)
    for receiver in asynchronous:
        _call(receiver, async_to_sync(receiver), signal=signal, sender=sender, **arguments)


def _call(receiver: Callable[..., Any], call: Callable[..., Any], **arguments: Any) -> None:
    try:
        call(**arguments)
    except Interruption:
        raise
    except BaseException as error:
        # By their classes' names: the texts of both are the project's code, too.
        name = getattr(receiver, "__qualname__", type(receiver).__qualname__)
        logger.error(
            "Signal receiver %s.%s raised %s",
            receiver.__module__,
            name,
            type(error).__qualname__,
            exc_info=error,
        )

"""What a worker and a job's process tell each other.

The job goes there as a pickle of the worker's own row. The outcome comes back as a line of JSON, so that nothing that
a handler made is ever unpickled.
"""

from __future__ import annotations

import json
import pickle
import socket
import struct
from dataclasses import asdict, astuple, fields, replace
from typing import Any

from django_jobqueue.jobs import limits
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.retry_policy import Failure
from django_jobqueue.workers.job import RunningJob
from django_jobqueue.workers.outcome import Completed, Failed, Outcome, Released, Written

CANCEL_REQUESTED = b"C"
CLAIM_LOST = b"L"
TIMED_OUT = b"T"
INTERRUPTED = b"I"
"""The news for a job that runs, a byte each."""

_SIZE = struct.Struct("!Q")
_FAILURE = {field.name for field in fields(Failure)}


def send_job(talk: socket.socket, job: RunningJob) -> None:
    """Send a claimed job, as the worker has it, to another process of the same code."""
    message = pickle.dumps(job.parts())
    talk.sendall(_SIZE.pack(len(message)) + message)


def receive_job(talk: socket.socket) -> RunningJob:
    """The job, tied to the same claim, over connections of this process. Raises ``EOFError``."""
    size = talk.recv(_SIZE.size, socket.MSG_WAITALL)
    message = talk.recv(_SIZE.unpack(size)[0], socket.MSG_WAITALL) if size else b""
    if not message:
        raise EOFError("The worker is gone.")
    database, claim, row = pickle.loads(message)
    return RunningJob(Job.objects.db_manager(database), claim, row)


def dump_outcome(outcome: Outcome) -> bytes:
    """How a run ended, for ``load_outcome``. Texts are cut to what is stored of them."""
    if isinstance(outcome, Failed):
        failure = replace(
            outcome.failure,
            error=limits.shorten(outcome.failure.error),
            exception_class=limits.shorten(outcome.failure.exception_class, 255),
            traceback=limits.shorten(outcome.failure.traceback, 4 * limits.ERROR_LENGTH),
        )
        return _line(["Failed", asdict(failure)])
    return _line([type(outcome).__name__, astuple(outcome)])


def load_outcome(line: bytes) -> Outcome:
    """The outcome. Raises ``ValueError`` for what ``dump_outcome`` has not written: handlers can do anything."""
    try:
        message = json.loads(line)
    except RecursionError:
        message = None
    match message:
        case ["Completed", [str() | None as result]]:
            return Completed(result)
        case ["Written", []]:
            return Written()
        case ["Released", [int() | float() as delay, str() | None as reason]]:
            return Released(delay, reason)
        case ["Failed", dict() as failure] if failure.keys() == _FAILURE:
            return Failed(Failure(**failure))
    raise ValueError("This is no outcome.")


def _line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"

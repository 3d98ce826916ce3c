"""What the client raises."""

from __future__ import annotations

from typing import Any


class JobQueueClientError(Exception):
    """Base of all errors of the client."""


class Unavailable(JobQueueClientError):
    """No answer, or one that asks to come again, also after all tries. The call may have been carried out."""


class Refused(JobQueueClientError):
    """The server said no, and changed nothing.

    ``status`` is the answer's, ``code`` the protocol's (``key_taken``, ``queue_full``, ...) or empty, and
    ``body`` the whole JSON.
    """

    def __init__(self, status: int, body: Any) -> None:
        detail = body.get("detail", body) if isinstance(body, dict) else body
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.body = body
        self.code: str = body.get("code", "") if isinstance(body, dict) else ""


class Invalid(Refused):
    """A value is out of its range; ``body`` names the fields, each with its problems."""


class ClaimLost(Refused):
    """The claim is no longer the caller's: stop working on the job, change nothing."""


def error_of(status: int, body: Any) -> Refused:
    """The error for a refusal."""
    if status == 400:
        return Invalid(status, body)
    refused = Refused(status, body)
    if status == 409 and refused.code in ("claim_lost", "not_owner", "not_running"):
        return ClaimLost(status, body)
    return refused

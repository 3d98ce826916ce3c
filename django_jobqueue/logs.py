"""Log lines that stay one line: what a job is called was chosen by others, and must not steer a terminal."""

from __future__ import annotations

import logging
import re

LOGGERS = ("django_jobqueue", "django_jobqueue.worker")

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def inert(text: str) -> str:
    """``text`` with its control characters written as escapes: line ends, colours, changes of direction."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


class InertArguments(logging.Filter):
    """Escapes control characters in the texts that a message is filled with."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(inert(arg) if isinstance(arg, str) else arg for arg in record.args)
        return True


def make_inert() -> None:
    """Let this app's loggers escape what they are told."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)


_FILTER = InertArguments()

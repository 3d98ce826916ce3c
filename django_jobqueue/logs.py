"""Log lines that stay one line: what a job is called was chosen by others, and must not steer a terminal."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from django_jobqueue.exceptions import Interruption

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
    """Let this app's loggers escape what they are told, and raise nothing."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.addFilter(_FILTER)
        if "handle" not in vars(logger):
            logger.handle = _harmless(logger.handle)  # type: ignore[method-assign, assignment]


def _harmless(handle: Callable[[logging.LogRecord], None]) -> Callable[[logging.LogRecord], None]:
    """A handler of the project's, a filter or a closed stream may raise anything; no job or worker ends by that."""

    def quiet(record: logging.LogRecord) -> None:
        try:
            handle(record)
        except Interruption:
            raise
        except BaseException:
            pass

    return quiet


_FILTER = InertArguments()

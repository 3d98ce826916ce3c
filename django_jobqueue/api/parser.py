"""Reading a request's body: JSON in UTF-8, and nothing that JSON does not have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from django_jobqueue.jobs import limits


class StrictJSONParser(JSONParser):
    """JSON as RFC 8259 defines it, whatever charset is claimed and whatever ``STRICT_JSON`` says.

    A name that occurs twice in one object is refused too: what reads the body first may see another value
    than what acts on it. Raises ``ParseError``, and ``RequestDataTooBig`` past ``DATA_UPLOAD_MAX_MEMORY_SIZE``.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return json.loads(
                stream.read().decode(), parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates
            )
        except RecursionError:
            raise ParseError("The body is nested too deep.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON in UTF-8: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {limits.shorten(twice, 100)!r} occurs twice")
    return entries

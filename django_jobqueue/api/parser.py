"""Reading a request's body: JSON in UTF-8, and nothing that JSON does not have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class StrictJSONParser(JSONParser):
    """JSON as RFC 8259 defines it, whatever charset is claimed and whatever ``STRICT_JSON`` says.

    Raises ``ParseError``, and ``RequestDataTooBig`` past ``DATA_UPLOAD_MAX_MEMORY_SIZE``.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return json.loads(stream.read().decode(), parse_constant=_refuse_constant)
        except RecursionError:
            raise ParseError("The body is nested too deep.") from None
        except ValueError as error:
            raise ParseError(f"The body is not JSON in UTF-8: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")

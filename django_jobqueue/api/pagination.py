"""Pages of jobs, the newest first: each job once, whatever is added, changed or removed between two pages."""

from __future__ import annotations

from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from django_jobqueue.jobs import limits


class JobPagination(CursorPagination):
    """By id, which is unique and never changes."""

    ordering = "-id"
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Raises ``ValidationError`` for a cursor that no page of this list gave out."""
        try:
            cursor = super().decode_cursor(request)
            if cursor is not None:
                limits.check_integer("cursor", int(cursor.position or ""), 0, limits.MAX_ID)
        except (NotFound, ValueError):
            raise ValidationError({"cursor": ["is no cursor of this list; start without one."]}) from None
        return cursor

    def get_page_size(self, request: Request) -> int:
        """Raises ``ValidationError`` for anything but 1 to ``max_page_size``."""
        given = request.query_params.get("page_size", self.page_size)
        try:
            return limits.check_integer("page_size", int(given), 1, self.max_page_size)
        except ValueError:
            raise ValidationError(
                {"page_size": [f"must be an integer from 1 to {self.max_page_size}."]}
            ) from None

"""What all calls share: JSON in and out, the protocol's refusals, and transactions left to the verbs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from django.db import connections, transaction
from rest_framework.generics import GenericAPIView
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from django_jobqueue.api.answers import show
from django_jobqueue.api.bodies import Body
from django_jobqueue.api.errors import LengthRequired, respond
from django_jobqueue.api.parser import StrictJSONParser
from django_jobqueue.api.throttling import JobQueueThrottle
from django_jobqueue.exceptions import JobNotFound
from django_jobqueue.jobs import limits
from django_jobqueue.models import Job

_ID = re.compile("[1-9][0-9]{0,18}")


class JobQueueView(GenericAPIView[Job]):
    """A call of the protocol. Authentication and throttling are the project's; the rest is as documented.

    ``serializer_class`` describes the body of a POST, ``throttle`` names the scope of its rate.
    """

    parser_classes = [StrictJSONParser]
    renderer_classes = [JSONRenderer]
    versioning_class = None
    filter_backends = []
    serializer_class: type[Body]
    throttle: ClassVar[str] = "jobqueue"

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """Exempt from ``ATOMIC_REQUESTS``: each verb is a transaction and repeats itself after a deadlock."""
        view = super().as_view(**initkwargs)
        for alias in connections:
            view = transaction.non_atomic_requests(using=alias)(view)
        return view

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        request._request.encoding = "utf-8"  # of the query, whatever charset the body claims
        super().initial(request, *args, **kwargs)
        if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
            raise LengthRequired

    def get_throttles(self) -> list[BaseThrottle]:
        return [*super().get_throttles(), JobQueueThrottle()]

    def get_exception_handler(self) -> Callable[..., Any]:
        return respond

    def read_body(self) -> dict[str, Any]:
        """The request's body as the call's serializer reads it. Raises ``ValidationError``."""
        return self.serializer_class.read(self.request.data)

    def answer(self, job: Job, status: int = 200, *, headers: dict[str, str] | None = None) -> Response:
        """``job`` as the caller may see it."""
        return Response(show(job, self.request), status, headers=headers)


class OneJobView(JobQueueView):
    """A call about the job whose id is in the path."""

    job_id: int

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        given = kwargs["id"]
        if not _ID.fullmatch(given) or int(given) > limits.MAX_ID:
            raise JobNotFound(limits.shorten(given, 30))
        self.job_id = int(given)

"""The protocol, and beside it views that do nothing: what DRF itself costs."""

from __future__ import annotations

from django.urls import include, path
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from django_jobqueue.api.permissions import WorkJob


class EmptyView(APIView):
    """Authenticates, checks the permission of workers, and does nothing."""

    permission_classes = [WorkJob]
    renderer_classes = [JSONRenderer]

    def post(self, request: Request) -> Response:
        return Response({"seen": len(request.data)})


urlpatterns = [
    path("empty", EmptyView.as_view()),
    path("open", EmptyView.as_view(authentication_classes=[], permission_classes=[AllowAny])),
    path("", include("django_jobqueue.api.urls")),
]

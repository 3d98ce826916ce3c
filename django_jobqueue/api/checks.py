"""System checks of the mounted protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error
from django.http import HttpRequest
from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver
from rest_framework.request import Request
from rest_framework.settings import api_settings

from django_jobqueue.api.throttling import SCOPES, JobQueueThrottle
from django_jobqueue.api.view import JobQueueView


def check_api(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """No call of the queue is open to anonymous callers, and the rates of its scopes can be read."""
    if not getattr(django_settings, "ROOT_URLCONF", None):
        return []
    callbacks: set[Any] = {pattern.callback for pattern in _patterns(get_resolver().url_patterns)}
    views = [callback for callback in callbacks if issubclass(getattr(callback, "cls", object), JobQueueView)]
    found: list[CheckMessage] = []
    for callback in sorted(views, key=lambda callback: callback.cls.__name__):
        if methods := _open_methods(callback):
            found.append(
                Error(
                    f"{callback.cls.__module__}.{callback.cls.__name__} lets anonymous callers "
                    f"{', '.join(methods)}: anyone could add, take or read jobs.",
                    hint="Give its permission_classes one that asks for a permission, such as WorkJob.",
                    id="django_jobqueue.E004",
                )
            )
    return [*found, *_rate_problems()] if views else []


def _patterns(patterns: Sequence[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern.url_patterns)
        else:
            yield pattern


def _open_methods(callback: Any) -> list[str]:
    """The methods of a view that its permissions allow to nobody in particular."""
    nobody: Any = None
    if apps.is_installed("django.contrib.auth"):
        from django.contrib.auth.models import (
            AnonymousUser,
        )  # a model's module: cannot be imported without the app

        nobody = AnonymousUser()
    view = callback.cls(**callback.initkwargs)
    allowed = []
    for method in view.allowed_methods:
        request = HttpRequest()
        request.method = method
        view.request = Request(request)
        view.request.user = nobody
        if all(permission.has_permission(view.request, view) for permission in view.get_permissions()):
            allowed.append(method)
    return allowed


def _rate_problems() -> list[CheckMessage]:
    rates: Any = api_settings.DEFAULT_THROTTLE_RATES
    found: list[CheckMessage] = []
    for scope in SCOPES:
        try:
            JobQueueThrottle().parse_rate(rates.get(scope))
        except (ValueError, KeyError, AttributeError, IndexError):
            message = f"DEFAULT_THROTTLE_RATES[{scope!r}] is {rates[scope]!r}, which is no rate."
            found.append(Error(message, hint='Write it like "100/min".', id="django_jobqueue.E005"))
    return found

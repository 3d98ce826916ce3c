"""The protocol's paths. Each is served with a trailing slash too: a redirect would lose a POST's body."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, re_path

from django_jobqueue.api import jobs

app_name = "django_jobqueue"


def _path(route: str, view: Any, name: str) -> URLPattern:
    pattern: URLPattern = re_path(f"^{route}/?$", view.as_view(), name=name)
    return pattern


ONE = "jobs/(?P<id>-?[0-9]+)"

urlpatterns = [
    _path("jobs", jobs.JobList, "jobs"),
    _path("jobs/claim", jobs.ClaimJob, "claim"),
    _path(ONE, jobs.JobDetail, "job"),
    _path(f"{ONE}/heartbeat", jobs.HeartbeatJob, "heartbeat"),
    _path(f"{ONE}/complete", jobs.CompleteJob, "complete"),
    _path(f"{ONE}/fail", jobs.FailJob, "fail"),
    _path(f"{ONE}/release", jobs.ReleaseJob, "release"),
    _path(f"{ONE}/cancel", jobs.CancelJob, "cancel"),
    _path(f"{ONE}/retry", jobs.RetryJob, "retry"),
]

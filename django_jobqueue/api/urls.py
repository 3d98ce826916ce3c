"""The protocol's paths. Each is served with a trailing slash too: a redirect would lose a POST's body."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, re_path

from django_jobqueue.api import claims, jobs

app_name = "django_jobqueue"


def _path(route: str, view: Any, name: str) -> URLPattern:
    pattern: URLPattern = re_path(f"^{route}/?$", view.as_view(), name=name)
    return pattern


ONE = "jobs/(?P<id>-?[0-9]+)"

urlpatterns = [
    _path("jobs", jobs.JobList, "jobs"),
    _path("jobs/claim", claims.ClaimJob, "claim"),
    _path("jobs/claim-batch", claims.ClaimJobs, "claim-batch"),
    _path("jobs/complete-batch", claims.CompleteJobs, "complete-batch"),
    _path(ONE, jobs.JobDetail, "job"),
    _path(f"{ONE}/heartbeat", claims.HeartbeatJob, "heartbeat"),
    _path(f"{ONE}/complete", claims.CompleteJob, "complete"),
    _path(f"{ONE}/fail", claims.FailJob, "fail"),
    _path(f"{ONE}/release", claims.ReleaseJob, "release"),
    _path(f"{ONE}/cancel", jobs.CancelJob, "cancel"),
    _path(f"{ONE}/retry", jobs.RetryJob, "retry"),
]

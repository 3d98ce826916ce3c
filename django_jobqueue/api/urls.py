"""The protocol's paths. Each is served with a trailing slash too: a redirect would lose a POST's body."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, re_path

from django_jobqueue.api import claims, jobs

app_name = "django_jobqueue"


def _paths(route: str, view: Any, name: str) -> list[URLPattern]:
    return [
        re_path(f"^{route}$", view.as_view(), name=name),
        re_path(f"^{route}/$", view.as_view(schema=None)),
    ]


ONE = "jobs/(?P<id>[^/]+)"

urlpatterns = [
    *_paths("jobs", jobs.JobList, "jobs"),
    *_paths("jobs/claim", claims.ClaimJob, "claim"),
    *_paths("jobs/claim-batch", claims.ClaimJobs, "claim-batch"),
    *_paths("jobs/complete-batch", claims.CompleteJobs, "complete-batch"),
    *_paths(ONE, jobs.JobDetail, "job"),
    *_paths(f"{ONE}/heartbeat", claims.HeartbeatJob, "heartbeat"),
    *_paths(f"{ONE}/complete", claims.CompleteJob, "complete"),
    *_paths(f"{ONE}/fail", claims.FailJob, "fail"),
    *_paths(f"{ONE}/release", claims.ReleaseJob, "release"),
    *_paths(f"{ONE}/cancel", jobs.CancelJob, "cancel"),
    *_paths(f"{ONE}/retry", jobs.RetryJob, "retry"),
]

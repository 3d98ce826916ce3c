"""The calls of workers."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from rest_framework import status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from django_jobqueue.api import bodies
from django_jobqueue.api.answers import show_claimed, show_lease
from django_jobqueue.api.permissions import WorkJob, principal
from django_jobqueue.api.upkeep import keep_up
from django_jobqueue.api.view import JobQueueView, OneJobView
from django_jobqueue.api.waiting import wait_for_jobs
from django_jobqueue.jobs.pending.claim_once import claim_once
from django_jobqueue.jobs.running.complete_batch import Completion, complete_batch
from django_jobqueue.models import Job


class ClaimJob(JobQueueView):
    """pending -> running: the next job for a worker."""

    permission_classes = [WorkJob]
    serializer_class = bodies.ClaimBody
    throttle = "jobqueue-claim"

    def post(self, request: Request) -> Response:
        jobs = claim(request, self.read_body())
        if not jobs:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(show_claimed(jobs[0], request))


class ClaimJobs(JobQueueView):
    """pending -> running: up to ``limit`` jobs for a worker."""

    permission_classes = [WorkJob]
    serializer_class = bodies.ClaimBatchBody
    throttle = "jobqueue-claim"

    def post(self, request: Request) -> Response:
        jobs = claim(request, self.read_body())
        return Response({"jobs": [show_claimed(job, request) for job in jobs]})


class HeartbeatJob(OneJobView):
    """running -> running: a longer lease."""

    permission_classes = [WorkJob]
    serializer_class = bodies.HeartbeatBody

    def post(self, request: Request, id: str) -> Response:
        job = Job.objects.heartbeat(self.job_id, **self.read_body(), claimed_by=principal(request))
        return Response(show_lease(job))


class CompleteJob(OneJobView):
    """running -> completed."""

    permission_classes = [WorkJob]
    serializer_class = bodies.CompleteBody

    def post(self, request: Request, id: str) -> Response:
        return self.answer(
            Job.objects.complete(self.job_id, **self.read_body(), claimed_by=principal(request))
        )


class CompleteJobs(JobQueueView):
    """running -> completed for many claims, with an outcome for each."""

    permission_classes = [WorkJob]
    serializer_class = bodies.CompletionBody

    def post(self, request: Request) -> Response:
        completions = [Completion(**item) for item in bodies.CompletionBody.read_all(request.data)]
        outcomes = complete_batch(Job.objects, completions, claimed_by=principal(request))
        pairs = zip(completions, outcomes, strict=True)
        return Response({"outcomes": [{"id": item.id, "outcome": outcome} for item, outcome in pairs]})


class FailJob(OneJobView):
    """running -> pending | scheduled | failed | cancelled."""

    permission_classes = [WorkJob]
    serializer_class = bodies.FailBody

    def post(self, request: Request, id: str) -> Response:
        return self.answer(Job.objects.fail(self.job_id, **self.read_body(), claimed_by=principal(request)))


class ReleaseJob(OneJobView):
    """running -> pending | scheduled | cancelled, no retry counted."""

    permission_classes = [WorkJob]
    serializer_class = bodies.ReleaseBody

    def post(self, request: Request, id: str) -> Response:
        body = self.read_body()
        delay = body.pop("retry_in", 0.0)
        return self.answer(
            Job.objects.release(self.job_id, **body, delay=delay, claimed_by=principal(request))
        )


def claim(request: Request, body: dict[str, Any]) -> list[Job]:
    """The jobs that ``body`` asks for; those of an earlier claim with the same ``request_id``."""
    choice = {"limit": 1, **body, "claimed_by": principal(request)}
    wait = choice.pop("wait_seconds", 0)
    if wait and not isinstance(request._request, ASGIRequest):
        problem = "needs a server that speaks ASGI: here a waiting claim would hold a worker of the server."
        raise ValidationError({"wait_seconds": [problem]})
    keep_up()
    take: Any = partial(claim_once, Job.objects) if "request_id" in choice else Job.objects.claim_many
    until = time.monotonic() + wait
    jobs: list[Job] = take(**choice)
    while (
        not jobs
        and (left := until - time.monotonic()) > 0
        and wait_for_jobs(choice.get("queues"), left, principal=choice["claimed_by"])
    ):
        jobs = take(**choice)
    return jobs

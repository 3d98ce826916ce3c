"""The evidence of a run: what the jobs' table, the partners, the mail folder and the image folders hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from email import message_from_bytes
from pathlib import Path

from django.conf import settings

from django_jobqueue.models import Job, JobAttempt
from example_project.demo.enqueue import thumbnails_key
from example_project.demo.gateway import Gateway
from example_project.demo.load import IMAGES_PER_FOLDER, count_thumbnails
from example_project.demo.report import Effect, Evidence, JobRow
from example_project.demo.web_hook import WebHook


def gather(
    *,
    run: str,
    queue: str,
    enqueued: Sequence[Job],
    repeated: Sequence[Job],
    folders: Sequence[str],
    gateway: Gateway,
    web_hook: WebHook,
    failures: Sequence[str],
) -> Evidence:
    """Everything that ``report`` needs to know about the run."""
    jobs = [
        JobRow(
            key=job.idempotency_key or "",
            type=job.type,
            status=job.status,
            retries=job.retry_count,
            max_retries=job.max_retries,
            error=job.error,
        )
        for job in Job.objects.filter(queue=queue).order_by("id")
    ]

    def completed(type: str) -> frozenset[str]:
        return frozenset(job.key for job in jobs if job.type == type and job.status == "completed")

    thumbnails = count_thumbnails(folders)
    return Evidence(
        enqueued=[job.idempotency_key or "" for job in enqueued],
        repeated=len(repeated),
        refused=sum(job.replayed for job in repeated),
        jobs=jobs,
        effects=[
            Effect("cards charged", completed("charge-card"), dict(gateway.charges)),
            Effect("events at the web hook", completed("post-webhook"), dict(web_hook.accepted)),
            Effect("invoices mailed", completed("send-invoice"), _mails(run)),
            Effect(
                "folders with all thumbnails",
                completed("make-thumbnails"),
                {thumbnails_key(name): count // IMAGES_PER_FOLDER for name, count in thumbnails.items()},
            ),
        ],
        charges={key: (asked, gateway.charges[key]) for key, asked in gateway.requests.items()},
        cut_off=JobAttempt.objects.filter(job__queue=queue, outcome="lost").count(),
        failures=failures,
    )


def _mails(run: str) -> Counter[str]:
    """The mails of this run by the key in their Message-ID."""
    files = Path(settings.SHOP_MAIL_DIR).glob(f"*{run}*.eml")
    ids = (str(message_from_bytes(file.read_bytes())["Message-ID"]) for file in files)
    return Counter(id.strip("<>").partition("@")[0] for id in ids)

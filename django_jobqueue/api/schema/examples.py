"""Bodies as they go over the wire."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]

JOB: Body = {
    "id": 42,
    "type": "resize-video",
    "payload": {"width": 1280, "height": 720},
    "queue": "default",
    "priority": "low",
    "priority_value": 5,
    "status": "pending",
    "run_at": "2026-05-01T10:00:00.000000Z",
    "retry_count": 0,
    "max_retries": 3,
    "idempotency_key": "video-7-720p",
    "enqueued_by": "shop",
    "worker_id": "",
    "claimed_by": "",
    "claimed_at": None,
    "cancel_requested_at": None,
    "progress": None,
    "error": "",
    "result": None,
    "redacted": False,
    "meta": {},
    "created_at": "2026-05-01T10:00:00.000000Z",
    "updated_at": "2026-05-01T10:00:00.000000Z",
    "finished_at": None,
}

_CLAIM = {
    "worker_id": "video-1",
    "claimed_by": "video-workers",
    "claimed_at": "2026-05-01T10:00:01.000000Z",
    "updated_at": "2026-05-01T10:00:01.000000Z",
}

RUNNING: Body = {**JOB, **_CLAIM, "status": "running"}

CLAIMED: Body = {
    **RUNNING,
    "fencing_token": 1,
    "lease_expires_at": "2026-05-01T10:10:01.000000Z",
    "lease_expires_in": 600.0,
}

_ENDED = {"updated_at": "2026-05-01T10:00:09.000000Z", "finished_at": "2026-05-01T10:00:09.000000Z"}

COMPLETED: Body = {**RUNNING, **_ENDED, "status": "completed", "result": {"pixels": 921600}}

RETRIED: Body = {
    **JOB,
    "payload": None,
    "error": None,
    "meta": None,
    "redacted": True,
    "retry_count": 1,
    "updated_at": "2026-05-01T10:00:09.000000Z",
}

CANCELLED: Body = {
    **JOB,
    **_ENDED,
    "payload": None,
    "error": None,
    "meta": None,
    "redacted": True,
    "status": "cancelled",
    "cancel_requested_at": "2026-05-01T10:00:09.000000Z",
}

LEASE: Body = {
    "lease_expires_at": "2026-05-01T10:20:00.000000Z",
    "lease_expires_in": 600.0,
    "cancel_requested": False,
}

PAGE: Body = {"next": "https://shop.example/jobs?cursor=cD00Mg%3D%3D", "previous": None, "results": [JOB]}

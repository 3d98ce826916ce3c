"""The running server answers nothing that the OpenAPI document does not allow. Takes about a minute."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from django_jobqueue.api.schema import document
from django_jobqueue.models import Job
from tests.api.conftest import TYPE, Caller

ROOT = Path(__file__).resolve().parents[2]
CASES = 30
SEED = 1


def as_served(folder: Path) -> Path:
    """The document with what only the running server knows: its job types, and that it cannot wait (WSGI)."""
    schema = document()
    bodies = schema["components"]["schemas"]
    bodies["EnqueueBody"]["properties"]["type"] = {"type": "string", "enum": [TYPE, "test.noop"]}
    for name in ("ClaimBody", "ClaimBatchBody"):
        bodies[name]["properties"]["wait_seconds"]["maximum"] = 0
    path = folder / "openapi.json"
    path.write_text(json.dumps(schema))
    return path


@pytest.mark.timeout(600)
def test_the_server_does_what_the_document_says(live_server, transactional_db, tmp_path):
    root = Caller(User.objects.create_superuser("root"))
    Job.objects.enqueue_many([{"type": TYPE, "payload": {"n": n}} for n in range(20)], enqueued_by="root")
    ended = subprocess.run(
        [
            str(Path(sys.executable).parent / "schemathesis"),
            *("run", str(as_served(tmp_path)), "--url", live_server.url),
            *("--header", f"Authorization: Token {root.token}"),
            *("--checks", "all", "--mode", "all"),
            *("--max-examples", str(CASES), "--seed", str(SEED), "--generation-deterministic"),
            *("--phases", "examples,coverage,fuzzing,stateful", "--no-color", "--continue-on-failure"),
        ],
        env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.contract.formats", "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=590,
    )
    assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr[-2000:]

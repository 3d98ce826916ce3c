"""What this version of the queue can do."""

from __future__ import annotations

import inspect

from django_jobqueue import job_handler

CAN_FORGET = "keep_completed" in inspect.signature(job_handler).parameters
"""Whether a handler may have its jobs deleted when they are completed."""

"""Every poison beside 20 healthy jobs: these complete, the worker lives or a supervisor starts it again, and what
the poison did is told in its attempts.
"""

from __future__ import annotations

import time

import pytest

from django_jobqueue.models import Job
from tests.support.poisons import PLACES, run_worker
from tests.support.processes import Processes, kill

pytestmark = pytest.mark.django_db(transaction=True)

HEALTHY = {"thread": "test.effect", "loop": "test.async_effect", "isolated": "test.effect"}
DEADLY = ("raise_", "os_exit", "kill_itself", "async_kill_itself", "segmentation_fault", "abort", "recursion")
OVER = ("completed", "failed", "cancelled")
LONGEST = 60.0  # seconds; only a hang takes as long


def drill(processes: Processes, log: str, place: str, name: str, workers: list) -> str:
    """Run one poison to its end; what went wrong, or nothing."""
    healthy = [{"type": HEALTHY[place]}] * 10
    ids = [one.id for one in Job.objects.enqueue_many(healthy)]
    poison = Job.objects.enqueue(f"poison.{place}.{name}", max_retries=1)
    ids += [one.id for one in Job.objects.enqueue_many(healthy)]
    end = time.monotonic() + LONGEST
    while Job.objects.filter(pk__in=[*ids, poison.pk]).exclude(status__in=OVER).exists():
        if not workers or not workers[-1].is_alive():
            workers.append(processes.start(run_worker, log, lease=1.0, poll_interval=0.05))
        if time.monotonic() > end:
            kill(workers[-1])
            workers[-1].join(10)
            left = list(Job.objects.filter(pk__in=[*ids, poison.pk]).values_list("type", "status"))
            Job.objects.all().delete()
            return f"{name}: not over after {LONGEST} s: {[one for one in left if one[1] not in OVER]}"
        time.sleep(0.02)
    sick = Job.objects.filter(pk__in=ids).exclude(status="completed")
    if sick.exists():
        return f"{name}: healthy jobs are {list(sick.values_list('status', 'error'))}"
    poison.refresh_from_db()
    if poison.status == "completed" and name.startswith(DEADLY):
        return f"{name}: is completed"
    if poison.status == "failed":
        reasons = list(poison.attempts.values_list("outcome", "exception_class", "message"))
        if not reasons or not all(outcome == "lost" or kind or message for outcome, kind, message in reasons):
            return f"{name}: its attempts do not tell: {reasons}"
    return ""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("place", PLACES)
def test_every_poison_harms_itself_alone(processes: Processes, tmp_path, place: str):
    workers: list = []
    log = str(tmp_path / "log")
    wrong = [drill(processes, log, place, name, workers) for name in PLACES[place]]
    assert [sentence for sentence in wrong if sentence] == []

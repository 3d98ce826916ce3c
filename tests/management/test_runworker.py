from __future__ import annotations

import json
import sys
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command

from django_jobqueue.models import Job
from django_jobqueue.vendors import Now

pytestmark = pytest.mark.django_db(transaction=True)


def run(*arguments: str, command: str = "runworker", **options: object) -> str:
    out = StringIO()
    call_command(command, "--drain", "--no-reload", *arguments, stdout=out, **options)
    return out.getvalue()


def test_it_says_what_it_serves_and_what_it_did():
    Job.objects.enqueue_many([{"type": "test.noop"}, {"type": "test.fail", "max_retries": 1}])
    out = run("--worker-id=w1")
    assert "Worker w1 runs all queues, 1 x 4 at once. Stop it with Ctrl-C." in out
    assert "Worker w1 stopped: 1 completed, 1 retried, 1 failed." in out


def test_json_is_one_object():
    Job.objects.enqueue("test.noop")
    assert json.loads(run("--worker-id=w1", "--json")) == {
        "worker_id": "w1",
        "completed": 1,
        "retried": 0,
        "failed": 0,
        "cancelled": 0,
        "released": 0,
        "lost": 0,
    }


def test_verbosity_zero_says_nothing():
    assert run(verbosity=0) == ""


def test_only_the_queues_asked_for_are_served():
    for queue in ("mail", "images", "other"):
        Job.objects.enqueue("test.noop", queue=queue)
    run("--queues=mail,images")
    assert list(Job.objects.filter(status="pending").values_list("queue", flat=True)) == ["other"]


def test_excluded_queues_are_not_served():
    for queue in ("mail", "images", "other"):
        Job.objects.enqueue("test.noop", queue=queue)
    run("--exclude-queues=mail,images")
    assert Job.objects.filter(status="pending").count() == 2


def test_it_ends_after_the_number_of_jobs_asked_for():
    Job.objects.enqueue_many([{"type": "test.noop"}] * 5)
    run("--max-jobs=3")
    assert Job.objects.filter(status="completed").count() == 3


def test_the_other_name_is_the_same_command():
    Job.objects.enqueue("test.noop")
    assert "1 completed" in run(command="jobqueue_worker")


def test_a_due_scheduled_job_is_run_by_a_draining_worker_and_a_later_one_is_not():
    due = Job.objects.enqueue("test.noop", run_at=timedelta(hours=1))
    Job.objects.filter(pk=due.pk).update(run_at=Now())
    later = Job.objects.enqueue("test.noop", run_at=timedelta(hours=1))
    run()
    assert Job.objects.get(pk=due.pk).status == "completed"
    assert Job.objects.get(pk=later.pk).status == "scheduled"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--concurrency=0"], "--concurrency: must be from 1 to 1000"),
        (["--async-concurrency=-1"], "--async-concurrency: must be from 0 to 10000"),
        (["--async-concurrency=0"], r"--async-concurrency is 0, but the handler of '.*' is async"),
        (["--prefetch=1001"], "--prefetch: must be from 0 to 1000"),
        (["--processes=0"], "--processes: must be from 1 to 256"),
        (["--lease=0.5"], "--lease: must be from 1 to 604800 seconds"),
        (["--poll-interval=0"], "--poll-interval: must be from 0.005 to 60 seconds"),
        (["--shutdown-timeout=-1"], "--shutdown-timeout: must be from 0"),
        (["--max-jobs=0"], "--max-jobs: must be from 1"),
        (["--queues=,"], "--queues: names no queue"),
        (["--queues=" + "x" * 65], "--queues: has 65 characters"),
        (["--queues=a", "--exclude-queues=a"], "--exclude-queues leaves nothing of --queues"),
        (["--worker-id= "], "--worker-id: must not be blank"),
        (["--concurrency=many"], "invalid int value"),
    ],
)
def test_bad_options_are_refused_by_name(arguments: list[str], message: str):
    with pytest.raises(CommandError, match=message):
        run(*arguments)


def test_a_database_without_the_table_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(Job._meta, "db_table", "not_migrated_yet")
    with pytest.raises(CommandError, match=r"Run 'manage\.py migrate' first"):
        run()


@pytest.mark.parametrize(
    ("patcher", "asks", "name"),
    [
        ("gevent.monkey", "is_module_patched", "threading"),
        ("eventlet.patcher", "is_monkey_patched", "thread"),
    ],
)
def test_threads_that_are_monkey_patched_are_refused_at_the_start(monkeypatch, patcher, asks, name):
    monkeypatch.setitem(sys.modules, patcher, SimpleNamespace(**{asks: lambda asked: asked == name}))
    with pytest.raises(CommandError, match=f"{patcher} has replaced Python's threads"):
        run()
    monkeypatch.setitem(sys.modules, patcher, SimpleNamespace(**{asks: lambda asked: False}))
    run()  # imported, but nothing is patched

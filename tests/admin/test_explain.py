from datetime import UTC, datetime, timedelta

import pytest

from django_jobqueue.admin.explain import Surroundings, explain
from django_jobqueue.admin.html import distance, duration
from django_jobqueue.models import Job

NOW = datetime(2026, 5, 1, 3, 0, tzinfo=UTC)


def ago(**span):
    return NOW - timedelta(**span)


@pytest.mark.parametrize(
    ("span", "text"),
    [
        ({"milliseconds": 300}, "0 s"),
        ({"seconds": 59}, "59 s"),
        ({"seconds": 60}, "1 min"),
        ({"minutes": 119}, "1 h"),
        ({"hours": 49}, "2 d"),
        ({"days": 400}, "400 d"),
        ({"minutes": -5}, "5 min"),
    ],
)
def test_a_duration_is_said_in_its_largest_whole_unit(span, text):
    assert duration(timedelta(**span)) == text


def test_a_distance_says_on_which_side_of_now_it_lies():
    assert distance(ago(minutes=5), NOW) == "5 min ago"
    assert distance(ago(minutes=-5), NOW) == "in 5 min"


def test_a_scheduled_job_waits_for_its_time():
    job = Job(status="scheduled", run_at=ago(minutes=-5))
    assert explain(job, NOW, has_handler=True) == "Waits for its time, in 5 min."


def test_a_job_that_is_just_due_is_no_reason_to_worry():
    job = Job(status="scheduled", run_at=ago(seconds=2))
    assert explain(job, NOW, has_handler=True) == "Due; the next worker that looks makes it pending."


def test_a_job_long_due_asks_whether_a_worker_runs():
    job = Job(status="scheduled", run_at=ago(minutes=10))
    assert "Due for 10 min, but no worker has made it pending" in explain(job, NOW, has_handler=True)


def pending(**span):
    return Job(status="pending", queue="mail", run_at=ago(**span), created_at=ago(**span))


def test_the_next_job_of_an_idle_queue_asks_whether_a_worker_serves_it():
    text = explain(pending(minutes=3), NOW, has_handler=True, around=Surroundings(ahead=0, running=0))
    assert text == (
        "Waiting for 3 min for a worker of the queue “mail”. It is next. "
        "No jobs of the queue are running. Is there a worker that serves it?"
    )


def test_a_job_that_was_just_enqueued_is_no_reason_to_worry():
    text = explain(pending(seconds=1), NOW, has_handler=True, around=Surroundings(ahead=0, running=0))
    assert "Is there a worker" not in text


def test_a_queue_that_moves_is_no_reason_to_worry():
    text = explain(pending(minutes=3), NOW, has_handler=True, around=Surroundings(ahead=1, running=1))
    assert text.endswith("1 job is ahead of it. 1 job of the queue is running.")


def test_counts_of_other_jobs_stop_at_a_bound():
    around = Surroundings(ahead=1001, running=1001)
    text = explain(pending(minutes=3), NOW, has_handler=True, around=around)
    assert "1,000+ jobs are ahead of it. 1,000+ jobs of the queue are running." in text


def test_a_job_waits_no_longer_than_it_exists():
    job = Job(status="pending", queue="mail", run_at=ago(days=9), created_at=ago(minutes=3))
    assert explain(job, NOW, has_handler=True).startswith("Waiting for 3 min")


def test_a_running_job_says_who_holds_it_and_until_when():
    job = Job(status="running", worker_id="w1", claimed_at=ago(seconds=20), lease_expires_at=ago(seconds=-40))
    assert explain(job, NOW, has_handler=True) == (
        "Held by w1 for 20 s; the lease ends in 40 s unless the worker renews it."
    )


def test_a_running_job_tells_of_a_cancel_that_was_asked_for():
    job = Job(
        status="running",
        worker_id="w1",
        claimed_at=ago(seconds=20),
        lease_expires_at=ago(seconds=-40),
        cancel_requested_at=ago(seconds=5),
    )
    assert "A cancel was asked for 5 s ago" in explain(job, NOW, has_handler=True)


def test_a_stale_job_says_that_its_worker_is_lost():
    job = Job(status="running", worker_id="w1", claimed_at=ago(minutes=5), lease_expires_at=ago(minutes=4))
    assert "the lease ran out 4 min ago: the worker was lost" in explain(job, NOW, has_handler=True)


@pytest.mark.parametrize(("count", "text"), [(0, "no retries"), (1, "1 retry"), (3, "3 retries")])
def test_a_failed_job_says_how_often_it_was_retried(count, text):
    assert f"Failed after {text}." in explain(Job(status="failed", retry_count=count), NOW, has_handler=True)


def test_a_completed_job_is_done():
    assert explain(Job(status="completed"), NOW, has_handler=True) == "Done."


def test_a_waiting_job_without_a_handler_says_so():
    scheduled = Job(status="scheduled", type="resize-video", run_at=ago(minutes=-5))
    for job in (scheduled, pending(minutes=3)):
        assert f"This project has no handler for “{job.type}”" in explain(job, NOW, has_handler=False)
        assert "no handler" not in explain(job, NOW, has_handler=True)

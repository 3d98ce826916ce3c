"""For the tests of projects: jobs run in the test's own process and transaction, without a worker or sleeping."""

from django_jobqueue.testing.assertions import assert_enqueued, refute_enqueued
from django_jobqueue.testing.run import run_jobs
from django_jobqueue.testing.runs_once import assert_runs_once
from django_jobqueue.testing.travel import travel

__all__ = ["assert_enqueued", "assert_runs_once", "refute_enqueued", "run_jobs", "travel"]

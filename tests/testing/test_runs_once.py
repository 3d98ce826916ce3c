"""``assert_runs_once`` tells handlers that stand a queue from those that do not."""

from __future__ import annotations

import itertools

import pytest
from django.test import TestCase

from django_jobqueue import job_handler, registry
from django_jobqueue.models import Job
from django_jobqueue.testing import assert_runs_once
from tests.support.models import Effect
from tests.testing import handlers

transactional = pytest.mark.django_db(transaction=True)


def effects() -> int:
    return Effect.objects.count()


def new_payloads():
    numbers = itertools.count()
    return lambda: {"name": f"order {next(numbers)}"}


@transactional
@pytest.mark.parametrize(
    "handler",
    [
        handlers.once_halt,
        handlers.once_with_key,
        handlers.async_once_with_key,
        handlers.two_steps,
        handlers.once_atomic,
        handlers.atomic,
        handlers.by_hand,
        handlers.by_payload,
    ],
    ids=lambda handler: handler.type,
)
def test_a_handler_that_is_safe_passes(handler):
    assert_runs_once(handler, {"name": "order"}, effects=effects)


@transactional
def test_a_handler_that_is_safe_passes_with_payloads_that_differ():
    assert_runs_once(handlers.by_payload, new_payloads(), effects=effects)


@transactional
def test_a_handler_without_any_care_fails_at_the_second_run():
    with pytest.raises(
        AssertionError, match="that is run twice in a row has 2 effects; one that runs once has 1"
    ):
        assert_runs_once(handlers.naive, {"name": "order"}, effects=effects)


@transactional
def test_a_handler_that_looks_before_it_leaps_fails_when_two_run_at_once():
    with pytest.raises(
        AssertionError, match="that is run twice at once has 2 effects; one that runs once has 1"
    ):
        assert_runs_once(handlers.look_then_leap, new_payloads(), effects=effects)


@transactional
def test_a_handler_whose_effect_is_recorded_only_after_it_fails_by_a_crash():
    with pytest.raises(
        AssertionError, match="after a crash between its effect and the record of it has 2 effects"
    ):
        assert_runs_once(handlers.once, {"name": "order"}, effects=effects)


@transactional
@pytest.mark.parametrize("by_hand", [False, True])
def test_the_crash_comes_before_the_commit_of_a_handler_that_completes_its_job_itself(by_hand):
    seen = []

    def run(job, name):
        seen.append(Effect.objects.count())
        handlers.charge(name)

    def run_by_hand(job, name):
        with job.complete_in_transaction():
            run(job, name)

    if by_hand:
        job_handler("testing.own_end")(run_by_hand)
    else:
        job_handler("testing.own_end", atomic=True)(run)
    try:
        assert_runs_once("testing.own_end", {"name": "order"}, effects=effects)
    finally:
        registry.unregister("testing.own_end")
    assert len(seen) == 5  # once, twice at once, and twice around the crash
    assert seen[3] == seen[4]  # which took the first one's writes with it


@transactional
def test_a_name_stands_for_its_handler_and_a_collection_for_its_size():
    assert_runs_once("testing.atomic", {"name": "order"}, effects=Effect.objects.all)


@transactional
def test_a_job_that_does_not_complete_proves_nothing():
    with pytest.raises(AssertionError, match="The job does not complete at all: RuntimeError: boom"):
        assert_runs_once("test.fail", effects=effects)


@transactional
def test_effects_that_do_not_count_what_the_job_does_prove_nothing():
    with pytest.raises(AssertionError, match="effects: 7 before the job and 7 after it"):
        assert_runs_once(handlers.atomic, {"name": "order"}, effects=lambda: 7)


@transactional
def test_other_jobs_that_wait_are_left_alone():
    job = handlers.naive.enqueue(name="other")
    assert_runs_once(handlers.atomic, {"name": "order"}, effects=effects)
    assert Job.objects.get(pk=job.pk).status == "pending"


class InATestCase(TestCase):
    def test_it_says_that_it_needs_a_transactional_test(self):
        with pytest.raises(RuntimeError, match="Use it in a TransactionTestCase"):
            assert_runs_once(handlers.atomic, {"name": "order"}, effects=effects)
        assert not Job.objects.exists()

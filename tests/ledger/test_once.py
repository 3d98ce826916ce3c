from __future__ import annotations

import pytest

from django_jobqueue import ExecutionInDoubt, PermanentFailure, Snooze, once
from django_jobqueue.exceptions import (
    ExecutionInProgress,
    ExecutionLost,
    NestedExecution,
    ResultNotStored,
)
from django_jobqueue.ledger.claim import claim, look
from django_jobqueue.ledger.once import describe
from django_jobqueue.models import JobExecution
from django_jobqueue.vendors import Now
from tests.ledger.conftest import entry

pytestmark = pytest.mark.django_db

KEY = "invoice:42"


def test_the_effect_gets_its_arguments_and_its_result_is_returned(gateway):
    assert once(KEY, gateway, 1, order=2) == {"charge": 1}
    assert gateway.calls == [((1,), {"order": 2})]


def test_a_second_call_returns_the_stored_result_and_calls_nothing(gateway):
    once(KEY, gateway)
    assert once(KEY, gateway) == {"charge": 1}
    assert len(gateway.calls) == 1


def test_the_first_call_returns_what_every_replay_will():
    assert once(KEY, lambda: {"lines": (1, 2)}) == once(KEY, lambda: None) == {"lines": [1, 2]}


def test_an_effect_without_a_result_is_replayed_too():
    assert once(KEY, lambda: None) is None
    assert once(KEY, lambda: "again") is None


@pytest.mark.parametrize("other", ["Invoice:42", "invoice:42 ", "invoíce:42"])
def test_keys_are_compared_character_by_character(gateway, other):
    once(KEY, gateway)
    assert once(other, gateway) == {"charge": 2}


def test_the_entry_tells_how_it_went(gateway):
    once(KEY, gateway)
    done = entry()
    assert (done.status, done.result, done.error, done.attempts) == ("completed", {"charge": 1}, "", 1)
    assert done.created_at <= done.completed_at
    assert done.lease_expires_at is None
    assert done.owner


def test_a_failure_is_raised_and_kept_with_its_reason(gateway):
    with pytest.raises(ConnectionError):
        once(KEY, gateway.refuse)
    failed = entry()
    assert (failed.status, failed.error) == ("failed", "ConnectionError: refused")


def test_a_failed_effect_is_run_again_by_the_next_call(gateway):
    with pytest.raises(ConnectionError):
        once(KEY, gateway.refuse)
    assert once(KEY, gateway) == {"charge": 2}
    done = entry()
    assert (done.status, done.error, done.attempts) == ("completed", "", 2)


def test_an_effect_that_fails_in_halt_mode_is_run_again_too(gateway):
    with pytest.raises(ConnectionError):
        once(KEY, gateway.refuse, on_stale="halt")
    assert once(KEY, gateway, on_stale="halt") == {"charge": 2}


def test_while_another_run_is_at_it_the_effect_is_not_called(gateway, left_open):
    left_open(seconds=20)
    with pytest.raises(ExecutionInProgress) as caught:
        once(KEY, gateway)
    assert gateway.calls == []
    assert isinstance(caught.value, Snooze)
    assert 15 < caught.value.delay <= 20


@pytest.mark.parametrize(("seconds", "delay"), [(0.2, 1), (200, 30)])
def test_the_wait_for_another_run_is_from_one_second_to_thirty(gateway, left_open, seconds, delay):
    left_open(seconds=seconds)
    with pytest.raises(ExecutionInProgress) as caught:
        once(KEY, gateway)
    assert caught.value.delay == delay


def test_a_stale_entry_is_taken_over(gateway, left_open):
    left_open()
    assert once(KEY, gateway) == {"charge": 1}
    assert entry().attempts == 2


def test_a_stale_entry_in_halt_mode_is_in_doubt_and_stays_as_it_is(gateway, left_open):
    left_open()
    before = JobExecution.objects.filter(pk=KEY).values().get()
    with pytest.raises(ExecutionInDoubt, match="nobody knows whether it happened") as caught:
        once(KEY, gateway, on_stale="halt")
    assert isinstance(caught.value, PermanentFailure)
    assert gateway.calls == []
    assert JobExecution.objects.filter(pk=KEY).values().get() == before


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_effect_that_is_interrupted_is_like_a_crash(gateway, interruption):
    def interrupted():
        raise interruption

    for on_stale, status in (("halt", "processing"), ("retry", "failed")):
        with pytest.raises(interruption):
            once(on_stale, interrupted, on_stale=on_stale)
        assert entry(on_stale).status == status
    with pytest.raises(ExecutionInDoubt):
        once("halt", gateway, on_stale="halt")
    assert once("retry", gateway) == {"charge": 1}


def test_an_effect_may_say_itself_that_it_is_in_doubt(gateway):
    def no_answer():
        raise ExecutionInDoubt("the gateway did not answer in time")

    with pytest.raises(ExecutionInDoubt):
        once(KEY, no_answer, on_stale="halt")
    assert entry().error == "ExecutionInDoubt: the gateway did not answer in time"
    assert list(JobExecution.objects.in_doubt()) == [entry()]
    with pytest.raises(ExecutionInDoubt):
        once(KEY, gateway, on_stale="halt")
    assert gateway.calls == []


def test_the_doubt_of_an_inner_effect_is_not_that_of_the_outer_one(gateway, left_open):
    left_open("inner")
    with pytest.raises(ExecutionInDoubt):
        once("outer", lambda: once("inner", gateway, on_stale="halt"), on_stale="halt")
    assert entry("outer").status == "failed"


def test_an_effect_inside_itself_is_a_mistake_and_not_a_wait(gateway):
    with pytest.raises(NestedExecution, match="give each its own key") as caught:
        once(KEY, lambda: once(KEY, gateway))
    assert isinstance(caught.value, ExecutionInProgress)
    assert isinstance(caught.value, PermanentFailure)
    assert gateway.calls == []


def test_an_effect_may_contain_another_one(gateway):
    assert once("outer", lambda: once("inner", gateway)) == {"charge": 1}
    assert entry("inner").status == entry("outer").status == "completed"


@pytest.mark.parametrize("result", [{1}, float("nan"), object(), "a\0", 2**64, "x" * 70_000])
def test_an_effect_whose_result_is_not_json_has_happened_and_never_runs_again(gateway, result):
    with pytest.raises(ResultNotStored, match="happened and is not run again, but its result") as caught:
        once(KEY, lambda: gateway() and result)
    assert isinstance(caught.value, PermanentFailure)
    done = entry()
    assert (done.status, done.result) == ("completed", None)
    assert done.error.startswith("result")
    with pytest.raises(ResultNotStored):
        once(KEY, gateway)
    assert len(gateway.calls) == 1


def test_a_run_that_was_overtaken_changes_nothing_and_is_told_so(gateway):
    def overtaken():
        JobExecution.objects.filter(pk=KEY).update(lease_expires_at=Now(-1))
        once_elsewhere(gateway)
        return "late"

    def once_elsewhere(func):
        from contextvars import Context

        Context().run(once, KEY, func)

    with pytest.raises(ExecutionLost):
        once(KEY, overtaken)
    assert entry().result == {"charge": 1}


@pytest.mark.parametrize("ends", ["result", ConnectionError("late")])
def test_a_run_that_was_overtaken_by_one_that_still_runs_cannot_end_it(ends):
    def overtaken():
        JobExecution.objects.filter(pk=KEY).update(lease_expires_at=Now(-1))
        claim(
            "default",
            describe(KEY, stale_after=300, on_stale="retry", owner="worker-2"),
            look("default", KEY),
        )
        if isinstance(ends, Exception):
            raise ends
        return ends

    with pytest.raises((ExecutionLost, ConnectionError)):
        once(KEY, overtaken)
    running = entry()
    assert (running.status, running.attempts, running.owner) == ("processing", 2, "worker-2")


def test_an_overtaken_run_that_fails_changes_nothing_either(gateway):
    def overtaken():
        from contextvars import Context

        JobExecution.objects.filter(pk=KEY).update(lease_expires_at=Now(-1))
        Context().run(once, KEY, gateway)
        raise ConnectionError("late")

    with pytest.raises(ConnectionError):
        once(KEY, overtaken)
    assert (entry().status, entry().error) == ("completed", "")


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("", "must not be blank"),
        (" \t", "must not be blank"),
        ("x" * 256, "has 256 characters; at most 255"),
        ("a\0", "NUL"),
        ("\ud800", "lone surrogates"),
        (None, "must be a text"),
        (42, "must be a text"),
    ],
)
def test_a_bad_key_is_refused_by_name(gateway, key, problem):
    with pytest.raises(ValueError, match=f"key: .*{problem}"):
        once(key, gateway)
    assert gateway.calls == []


@pytest.mark.parametrize("key", ["x" * 255, "ключ" * 63])
def test_a_key_may_be_as_long_as_the_column(gateway, key):
    once(key, gateway)
    assert entry(key).status == "completed"


@pytest.mark.parametrize("stale_after", [0, -1, float("nan"), float("inf"), "60", None, True])
def test_a_bad_stale_after_is_refused_by_name(gateway, stale_after):
    with pytest.raises(ValueError, match="stale_after: must be"):
        once(KEY, gateway, stale_after=stale_after)


def test_an_unknown_way_with_stale_entries_is_refused_by_name(gateway):
    with pytest.raises(ValueError, match="on_stale: 'stop' is neither 'retry' nor 'halt'"):
        once(KEY, gateway, on_stale="stop")


def test_an_async_effect_is_refused_before_it_is_claimed():
    async def effect():
        """Never called."""

    with pytest.raises(TypeError, match="aonce"):
        once(KEY, effect)
    assert not JobExecution.objects.exists()


def test_an_entry_cannot_be_saved(left_open):
    with pytest.raises(TypeError, match=r"not by save\(\)"):
        left_open().save()


@pytest.mark.parametrize("status", ["failed", "processing"])
def test_an_entry_that_was_taken_over_and_broke_again_since_it_was_seen_is_claimed_under_its_newest_fence(
    left_open, status
):
    effect = describe("invoice:42", stale_after=300, on_stale="retry", owner="worker-2")
    left_open()
    seen = look("default", "invoice:42")
    JobExecution.objects.filter(pk="invoice:42").update(status=status, attempts=7)
    claimed = claim("default", effect, seen)
    assert claimed.attempts == JobExecution.objects.get(pk="invoice:42").attempts == 8

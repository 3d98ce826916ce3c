from __future__ import annotations

import pytest

from django_jobqueue import once
from django_jobqueue.exceptions import NotInDoubt, ResultNotStored
from django_jobqueue.models import JobExecution
from tests.ledger.conftest import entry

pytestmark = pytest.mark.django_db

KEY = "invoice:42"
executions = JobExecution.objects


def test_what_happened_is_replayed_with_the_result_of_the_person(gateway, left_open):
    left_open()
    executions.confirm(KEY, result={"charge": "by hand"})
    assert once(KEY, gateway, on_stale="halt") == {"charge": "by hand"}
    assert gateway.calls == []
    assert (entry().status, entry().completed_at is not None) == ("completed", True)


def test_what_happened_needs_no_result(gateway, left_open):
    left_open()
    executions.confirm(KEY)
    assert once(KEY, gateway) is None


def test_what_did_not_happen_is_run_by_the_next_call(gateway, left_open):
    left_open()
    executions.deny(KEY)
    assert entry().status == "failed"
    assert once(KEY, gateway, on_stale="halt") == {"charge": 1}


@pytest.mark.parametrize("settle", [executions.confirm, executions.deny])
def test_a_run_that_has_not_run_out_of_its_lease_cannot_be_settled(left_open, settle):
    left_open(seconds=20)
    with pytest.raises(NotInDoubt, match="nothing was changed"):
        settle(KEY)
    assert entry().status == "processing"


@pytest.mark.parametrize("settle", [executions.confirm, executions.deny])
def test_what_has_ended_cannot_be_settled(gateway, settle):
    once(KEY, gateway)
    with pytest.raises(NotInDoubt):
        settle(KEY)
    assert entry().result == {"charge": 1}


@pytest.mark.parametrize("settle", [executions.confirm, executions.deny])
def test_an_entry_that_was_taken_over_since_the_person_saw_it_cannot_be_settled(left_open, settle):
    seen = left_open()
    JobExecution.objects.filter(pk=KEY).update(attempts=seen.attempts + 1)
    with pytest.raises(NotInDoubt):
        settle(KEY, attempts=seen.attempts)


@pytest.mark.parametrize("settle", [executions.confirm, executions.deny])
def test_there_is_nothing_to_settle_under_an_unknown_key(settle):
    with pytest.raises(NotInDoubt):
        settle("unknown")


def test_a_result_that_was_not_json_can_be_given_later(gateway):
    with pytest.raises(ResultNotStored):
        once(KEY, lambda: {1})
    executions.confirm(KEY, result=[1])
    assert once(KEY, gateway) == [1]
    assert entry().error == ""


def test_an_effect_that_happened_without_a_json_result_cannot_be_denied():
    with pytest.raises(ResultNotStored):
        once(KEY, lambda: {1})
    with pytest.raises(NotInDoubt):
        executions.deny(KEY)


def test_a_result_that_is_not_json_is_refused(left_open):
    left_open()
    with pytest.raises(ValueError, match="result: set is not JSON"):
        executions.confirm(KEY, result={1})
    assert entry().status == "processing"


def test_what_is_in_doubt_is_listed_the_oldest_first(left_open, gateway):
    left_open("running", seconds=20)
    left_open("younger", seconds=-5)
    left_open("older", seconds=-50)
    once("done", gateway)
    assert [it.pk for it in executions.in_doubt()] == ["older", "younger"]

from __future__ import annotations

import uuid

import pytest

from django_jobqueue.ledger.keys import effect_key, execution_key

JOBS = [(1, None), (2, None), (1, "1"), (1, "job:1"), (1, "a:b"), (1, "a"), (1, "k" * 255), (1, "k" * 254)]
NAMES = ["charge", "b", "mail", "n" * 100]


@pytest.mark.parametrize("make", [execution_key, effect_key])
def test_no_two_jobs_or_names_share_a_key(make):
    keys = [make(id, key, name) for id, key in JOBS for name in NAMES]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("make", [execution_key, effect_key])
def test_the_id_does_not_matter_where_there_is_an_idempotency_key(make):
    assert make(1, "invoice-42", "charge") == make(2, "invoice-42", "charge")


def test_a_key_can_be_read():
    assert execution_key(7, None, "charge") == "job:7:charge"
    assert execution_key(7, "invoice-42", "charge") == "key:invoice-42:charge"


@pytest.mark.parametrize(("id", "key"), [*JOBS, (2**63 - 1, None), (1, "ключ" * 63)])
def test_every_key_fits_the_column(id, key):
    assert len(execution_key(id, key, "n" * 100)) <= 255


def test_a_shortened_key_cannot_be_taken_by_the_key_of_another_job():
    shortened = execution_key(1, "k" * 255, "charge")
    inner = shortened.removeprefix("sha:").removesuffix(":charge")
    assert execution_key(2, inner, "charge") != shortened


def test_an_effect_key_never_changes():
    """Whoever changes how it is made charges every card twice whose job is retried across the upgrade."""
    assert effect_key(7, "invoice-42", "charge") == "d07ccc30-977b-561a-9a59-0ad8bbd52024"
    assert effect_key(7, None, "charge") == "4a7b6e69-42a2-5d5d-8d5a-6466e37c7cc5"


def test_an_effect_key_is_a_uuid():
    assert str(uuid.UUID(effect_key(7, None, "charge"))) == effect_key(7, None, "charge")


@pytest.mark.parametrize(
    ("name", "problem"),
    [("", "blank"), (" ", "blank"), ("n" * 101, "at most 100"), ("a:b", "colon"), (None, "must be a text")],
)
@pytest.mark.parametrize("make", [execution_key, effect_key])
def test_a_bad_name_is_refused_by_name(make, name, problem):
    with pytest.raises(ValueError, match=f"name: .*{problem}"):
        make(7, None, name)

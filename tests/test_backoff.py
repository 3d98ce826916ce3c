"""How long to wait before a retry."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_jobqueue.backoff import (
    MAX_DELAY,
    constant,
    delay_before,
    exponential,
    from_meta,
    linear,
    resolve,
    to_meta,
)


def seven_seconds(retry):
    return 7.0


not_callable = 7.0

delays = st.floats(0, MAX_DELAY)
backoffs = (
    st.builds(constant, delays)
    | st.builds(linear, delays, delays)
    | st.builds(exponential, delays, delays, st.floats(0, 1))
)


def test_a_constant_backoff_is_the_same_each_time():
    assert [constant(30)(retry) for retry in (1, 2, 1000)] == [30.0, 30.0, 30.0]


def test_a_linear_backoff_grows_to_its_cap():
    assert [linear(10, cap=25)(retry) for retry in (1, 2, 3, 1000)] == [10.0, 20.0, 25.0, 25.0]


def test_an_exponential_backoff_doubles_to_its_cap():
    backoff = exponential(2, cap=20, jitter=0)
    assert [backoff(retry) for retry in (1, 2, 3, 4, 1000)] == [2.0, 4.0, 8.0, 16.0, 20.0]


def test_jitter_only_shortens_and_spreads():
    delays = {exponential(100, jitter=0.25)(1) for _ in range(200)}
    assert len(delays) > 100
    assert all(75 <= delay <= 100 for delay in delays)


@given(backoff=backoffs, retry=st.integers(1, 10**30))
def test_a_delay_is_finite_and_capped_for_any_number_of_retries(backoff, retry):
    assert 0 <= delay_before(retry, backoff) <= MAX_DELAY


@pytest.mark.parametrize(
    ("given", "kept"), [(-5, 0.0), (1e300, MAX_DELAY), (math.inf, MAX_DELAY), (math.nan, MAX_DELAY), (3, 3.0)]
)
def test_what_a_backoff_says_is_kept_within_bounds(given, kept):
    assert delay_before(1, lambda retry: given) == kept


def test_no_backoff_is_no_delay():
    assert delay_before(1, None) == 0.0


@given(backoff=backoffs)
def test_a_backoff_that_was_stored_is_the_same(backoff):
    assert from_meta(to_meta(backoff)) == backoff


def test_a_dotted_path_is_stored_as_it_is():
    path = "tests.test_backoff.seven_seconds"
    assert to_meta(path) == path
    assert from_meta(path) is seven_seconds


def test_another_callable_cannot_be_stored():
    with pytest.raises(ValueError, match="dotted path"):
        to_meta(seven_seconds)


@pytest.mark.parametrize(
    "make",
    [
        lambda: constant(-1),
        lambda: constant(math.nan),
        lambda: constant(MAX_DELAY + 1),
        lambda: constant("5"),
        lambda: constant(True),
        lambda: linear(-1),
        lambda: linear(cap=math.inf),
        lambda: exponential(base=-2),
        lambda: exponential(jitter=1.5),
        lambda: exponential(jitter=-0.1),
        lambda: exponential(jitter=math.nan),
    ],
)
def test_a_number_out_of_range_is_refused(make):
    with pytest.raises(ValueError, match=r"^(seconds|base|cap|jitter): "):
        make()


def test_a_dotted_path_is_resolved():
    assert resolve("tests.test_backoff.seven_seconds") is seven_seconds
    assert resolve(seven_seconds) is seven_seconds
    assert resolve(None) is None


@pytest.mark.parametrize("path", ["tests.test_backoff.gone", "gone.module.backoff", "nothing", ""])
def test_a_path_that_leads_nowhere_is_an_import_error(path):
    with pytest.raises(ImportError):
        resolve(path)


@pytest.mark.parametrize("value", [5, "tests.test_backoff.not_callable"])
def test_what_cannot_be_called_is_no_backoff(value):
    with pytest.raises(ValueError, match="neither a callable"):
        resolve(value)

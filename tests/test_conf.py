"""The options of ``settings.JOBQUEUE``."""

from __future__ import annotations

import math

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from django_jobqueue import conf, exponential

SECRET = "c2VjcmV0IG9mIHNpeHRlZW4gYnl0ZXM="

BAD = [
    ("MAX_RETRIES", -1),
    ("MAX_RETRIES", 1001),
    ("MAX_RETRIES", True),
    ("MAX_RETRIES", "3"),
    ("MAX_RETRIES", 3.0),
    ("RETRY_BACKOFF", 5),
    ("RETRY_BACKOFF", "gone.module.backoff"),
    ("RETRY_BACKOFF", "django_jobqueue.backoff.MAX_DELAY"),
    ("LEASE_SECONDS", 2),
    ("LEASE_SECONDS", 86_401),
    ("LEASE_SECONDS", None),
    ("API_LEASE_SECONDS", 0),
    ("MAX_LEASE_SECONDS", 604_801),
    ("PROMOTE_INTERVAL", 0),
    ("REAP_INTERVAL", math.nan),
    ("REAP_INTERVAL", math.inf),
    ("POLL_INTERVAL", 0),
    ("POLL_INTERVAL", "1"),
    ("SHUTDOWN_TIMEOUT", -1),
    ("IDEMPOTENCY_MISMATCH", "ignore"),
    ("EXTERNAL_JOB_TYPES", "resize-video"),
    ("EXTERNAL_JOB_TYPES", [""]),
    ("EXTERNAL_JOB_TYPES", [5]),
    ("EXTERNAL_JOB_TYPES", None),
    ("REQUIRE_FENCING_TOKEN", 1),
    ("MAX_PAYLOAD_BYTES", 1),
    ("MAX_PAYLOAD_BYTES", 16 * 1024 * 1024 + 1),
    ("MAX_RESULT_BYTES", -1),
    ("MAX_RESULT_BYTES", 99),
    ("WAKEUP", "telepathy"),
    ("WEBHOOK_SECRETS", 5),
    ("WEBHOOK_SECRETS", "gone.module.secrets"),
    ("WEBHOOK_SECRETS", {"shop": "too short"}),
    ("WEBHOOK_SECRETS", {"shop": []}),
    ("WEBHOOK_SECRETS", {5: SECRET}),
    ("WEBHOOK_TIMEOUT", 0),
    ("WEBHOOK_MAX_RESPONSE_BYTES", -1),
    ("WEBHOOK_ALLOWED_NETWORKS", "10.0.0.0/8"),
    ("WEBHOOK_ALLOWED_NETWORKS", ["10.0.0.1/8"]),
    ("BROKER_URL", "localhost"),
    ("BROKER_URL", 5672),
    ("BROKER_OPTIONS", ["ssl"]),
    ("BROKER_OPTIONS", {1: True}),
    ("BROKER_TIMEOUT", 601),
]

GOOD = [
    ("MAX_RETRIES", 0),
    ("MAX_RETRIES", 1000),
    ("RETRY_BACKOFF", None),
    ("RETRY_BACKOFF", exponential()),
    ("RETRY_BACKOFF", "tests.test_backoff.seven_seconds"),
    ("LEASE_SECONDS", 3),
    ("REAP_INTERVAL", 1),
    ("POLL_INTERVAL", 0.005),
    ("IDEMPOTENCY_MISMATCH", "reject"),
    ("EXTERNAL_JOB_TYPES", {"resize-video"}),
    ("REQUIRE_FENCING_TOKEN", True),
    ("MAX_RESULT_BYTES", 100),
    ("WEBHOOK_SECRETS", {"shop": SECRET, "rotated": [SECRET, f"whsec_{SECRET}"]}),
    ("WEBHOOK_SECRETS", len),
    ("WEBHOOK_ALLOWED_NETWORKS", ["10.0.0.0/8", "fd00::/8"]),
    ("BROKER_URL", "amqps://name:password@host:5671/vhost"),
    ("BROKER_OPTIONS", {"ssl": True}),
]


@pytest.mark.parametrize(("option", "value"), BAD)
def test_a_bad_value_is_named(option, value):
    [(named, sentence)] = conf.problems({option: value})
    assert named == option
    assert sentence.startswith(f"JOBQUEUE[{option!r}] must ")


@pytest.mark.parametrize(("option", "value"), GOOD)
def test_a_good_value_is_taken(option, value):
    with override_settings(JOBQUEUE={option: value}):
        assert getattr(conf.settings(), option) == value


@pytest.mark.parametrize(("option", "value"), BAD)
def test_a_bad_value_is_never_used(option, value):
    with override_settings(JOBQUEUE={option: value}), pytest.raises(ImproperlyConfigured, match=option):
        conf.settings()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("MAX_RETRY", "MAX_RETRIES"), ("lease_seconds", "LEASE_SECONDS"), ("POLLING_INTERVAL", "POLL_INTERVAL")],
)
def test_an_unknown_option_gets_a_suggestion(wrong, right):
    assert conf.problems({wrong: 1}) == [
        (wrong, f"JOBQUEUE has no option {wrong!r}. Did you mean {right!r}?")
    ]


@pytest.mark.parametrize("wrong", ["COLOUR", 5, ("a",)])
def test_an_option_like_no_other_gets_no_suggestion(wrong):
    assert conf.problems({wrong: 1}) == [(str(wrong), f"JOBQUEUE has no option {wrong!r}.")]


def test_every_problem_is_told():
    assert len(conf.problems({"MAX_RETRIES": -1, "COLOUR": 1, "LEASE_SECONDS": 60})) == 2


@pytest.mark.parametrize("value", [None, [], "MAX_RETRIES", 5])
def test_the_setting_is_a_dict(value):
    assert conf.problems(value) == [("JOBQUEUE", "JOBQUEUE must be a dict.")]


def test_the_defaults_are_good(settings):
    del settings.JOBQUEUE
    defaults = {option.name: option.default for option in conf.options()}
    assert conf.problems(defaults) == []
    assert conf.settings() == conf.Settings()


def test_every_option_says_what_it_is_for():
    assert all(option.metadata["text"].endswith(".") for option in conf.options())


def test_a_change_of_the_setting_is_seen():
    with override_settings(JOBQUEUE={"MAX_RETRIES": 1}):
        assert conf.settings().MAX_RETRIES == 1
        with override_settings(JOBQUEUE={"MAX_RETRIES": 2}):
            assert conf.settings().MAX_RETRIES == 2
        assert conf.settings().MAX_RETRIES == 1

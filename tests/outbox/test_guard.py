"""That no web hook goes where it must not, whatever its URL, the name server or the receiver say."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from django_jobqueue.models import Job
from django_jobqueue.outbox import enqueue_webhook, post
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db

HOST = "hooks.shop.example"
TLS = Path(__file__).parent / "tls"


@pytest.fixture
def names(monkeypatch) -> list[str]:
    """Names are looked up here: the addresses to answer with, one for each look-up, the last one again."""
    addresses: list[str] = ["127.0.0.1"]

    def look_up(host, port, *args, **kwargs):
        address = addresses.pop(0) if len(addresses) > 1 else addresses[0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return addresses


def deliver(run_jobs, url: str) -> Job:
    job = enqueue_webhook(url, {})
    run_jobs()
    return Job.objects.get(pk=job.pk)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ],
)
def test_no_spelling_of_a_refused_address_gets_through(receiver, run_jobs, options, host):
    options(WEBHOOK_ALLOWED_NETWORKS=[])
    job = deliver(run_jobs, f"http://{host}:{receiver.port}/")
    assert (job.status, job.retry_count) == ("failed", 0)
    assert re.match(
        "PermanentFailure: url: (.* where web hooks are not sent|Invalid IPv4 address)", job.error
    )
    assert receiver.requests == []


def test_a_name_that_leads_to_a_refused_address_is_not_followed_there(receiver, run_jobs, options, names):
    options(WEBHOOK_ALLOWED_NETWORKS=[])
    names[:] = ["169.254.169.254"]
    job = deliver(run_jobs, f"http://{HOST}:{receiver.port}/")
    assert job.status == "failed"
    assert job.error.startswith(f"PermanentFailure: url: {HOST} leads to 169.254.169.254 (link-local)")


def test_the_connection_goes_to_the_address_that_was_checked(receiver, run_jobs, names):
    names[:] = ["127.0.0.1", "127.0.0.99"]  # a name server that answers with another address the second time
    assert deliver(run_jobs, f"http://{HOST}:{receiver.port}/").status == "completed"
    assert names == ["127.0.0.99"]
    assert receiver.requests[0].headers["host"] == f"{HOST}:{receiver.port}"


def test_a_host_is_reached_by_its_second_address_when_the_first_is_dead(receiver, run_jobs, monkeypatch):
    def look_up(host, port, *args, **kwargs):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{last}", port)) for last in (99, 1)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert deliver(run_jobs, f"http://{HOST}:{receiver.port}/").status == "completed"


@pytest.fixture
def secure(receiver, monkeypatch) -> Iterator[Receiver]:
    """A receiver with a certificate for ``HOST``, whose issuer is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "ca.pem"))
    post._tls.cache_clear()
    listening = Receiver(certificate=TLS / "server.pem")
    yield listening
    listening.close()
    post._tls.cache_clear()


def test_in_tls_the_name_is_asked_for_and_verified(secure, run_jobs, names):
    job = deliver(run_jobs, f"https://{HOST}:{secure.port}/")
    assert (job.status, secure.server_names) == ("completed", [HOST])
    assert secure.requests[0].headers["host"] == f"{HOST}:{secure.port}"


def test_a_certificate_for_another_name_is_refused(secure, run_jobs, names):
    job = deliver(run_jobs, f"https://other.example:{secure.port}/")
    assert job.status == "scheduled"
    assert "CERTIFICATE_VERIFY_FAILED" in job.error
    assert secure.requests == []

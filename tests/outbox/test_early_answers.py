"""Informational answers before the real one: few are passed over, endless ones end the delivery, not the loop."""

from __future__ import annotations

import asyncio
import contextlib
import time

import httpx
import pytest

from django_jobqueue.outbox.post import post

HINT = b"HTTP/1.1 103 Early Hints\r\n\r\n"


async def _deliver(url: str, timeout: float) -> tuple[object, float, float]:
    """What came of it, how long it took, and the longest time that the loop did nothing else."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.01)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()

    watching = asyncio.create_task(watch())
    begun = time.monotonic()
    outcome: object
    try:
        outcome = await post(url, b"{}", {}, timeout=timeout, max_bytes=100, allowed_networks=["127.0.0.0/8"])
    except (httpx.TransportError, TimeoutError) as error:
        outcome = error
    took = time.monotonic() - begun
    watching.cancel()
    return outcome, took, longest


def _endless(head: bytes, size: int = 4000):
    def reply(receiver, handler):
        with contextlib.suppress(OSError):
            while not receiver.closed.is_set():
                handler.wfile.write(head * (size // len(head) + 1))
        receiver.broken_off.set()

    return reply


@pytest.mark.parametrize(
    "head",
    [HINT, b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"],
)
def test_endless_informational_answers_end_the_delivery_soon(receiver, head):
    receiver.replies[:] = [_endless(head)]
    outcome, took, longest = asyncio.run(_deliver(receiver.url, 60))
    assert isinstance(outcome, httpx.RemoteProtocolError)
    assert took < 20  # of 60
    assert longest < 5
    assert receiver.broken_off.wait(30)


def test_some_informational_answers_are_passed_over(receiver):
    def reply(receiver, handler):
        handler.wfile.write(HINT * 20 + b"HTTP/1.1 204 No Content\r\n\r\n")

    receiver.replies[:] = [reply]
    outcome, _, _ = asyncio.run(_deliver(receiver.url, 30))
    assert outcome.status == 204


def test_a_large_body_in_the_packets_of_the_head_is_no_long_head(receiver):
    def reply(receiver, handler):
        head = b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 60_000 + b"\r\nContent-Length: 1000000\r\n\r\n"
        with contextlib.suppress(OSError):
            handler.wfile.write(head + b"b" * 1_000_000)

    receiver.replies[:] = [reply]
    outcome, _, _ = asyncio.run(_deliver(receiver.url, 30))
    assert (outcome.status, outcome.body) == (200, b"b" * 100)

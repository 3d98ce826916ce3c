"""One HTTP POST to an address that was checked: bounded in time and size, and led nowhere else."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from socket import SOCK_STREAM
from typing import Any

import httpx

from django_jobqueue.outbox.address import usable

_HEAD = 100_000  # bytes that may come before the answer: informational ones (1xx) can be without end
_ADDRESSES = 4  # of one host that are tried, each for a part of the time


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. ``body`` is its beginning."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def post(
    url: str,
    content: bytes,
    headers: Mapping[str, str],
    *,
    timeout: float,
    max_bytes: int,
    allowed_networks: Sequence[str],
) -> Answer:
    """POST ``content``; the answer's status, headers and up to ``max_bytes`` of its body.

    All of it takes up to ``timeout`` seconds. An answer whose body does not come or does not end in time is an
    answer all the same. The host's name is looked up once, the connection goes to what was found and checked,
    and the name stays in the ``Host`` header and in TLS. Redirects, proxies and cookies are not looked at.
    Raises ``PermanentFailure`` for an address that is refused, ``TimeoutError``, ``OSError`` when the name is
    not found, and ``httpx.TransportError``.
    """
    request = httpx.Request("POST", url, content=content, headers=headers)
    end = asyncio.get_running_loop().time() + timeout
    async with httpx.AsyncHTTPTransport(verify=_tls()) as transport:
        async with asyncio.timeout_at(end):
            addresses = await _look_up(request.url, allowed_networks)
            response = await _send(transport, request, addresses, timeout / (len(addresses) + 1))
        body = b""
        with contextlib.suppress(TimeoutError, httpx.TransportError):
            async with asyncio.timeout_at(end):
                body = await _read(response, max_bytes)
        await response.aclose()
    return Answer(response.status_code, response.headers, body)


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """Takes long to make, and can be shared. The CAs are httpx's, or those of ``SSL_CERT_FILE``."""
    return httpx.create_ssl_context()


async def _look_up(url: httpx.URL, allowed_networks: Sequence[str]) -> list[str]:
    host = url.raw_host.decode("ascii")
    port = url.port or {"http": 80, "https": 443}[url.scheme]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
    return usable(host, (str(entry[4][0]) for entry in found), allowed_networks)[:_ADDRESSES]


async def _send(
    transport: httpx.AsyncHTTPTransport,
    request: httpx.Request,
    addresses: Sequence[str],
    connect_timeout: float,
) -> httpx.Response:
    """The answer of the first address that takes the connection."""
    head = _Head()
    refused: httpx.TransportError | None = None
    for address in addresses:
        pinned = httpx.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,  # with the name as Host
            stream=request.stream,
            extensions={
                "sni_hostname": request.url.raw_host.decode("ascii"),
                "timeout": {"connect": connect_timeout},
                "trace": head.trace,
            },
        )
        try:
            return await transport.handle_async_request(pinned)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            refused = error
    assert refused is not None  # there is an address
    raise refused


class _Head:
    """Counts what comes before the answer, which httpx reads past without a bound."""

    def __init__(self) -> None:
        self.left = _HEAD
        self.complete = False

    async def trace(self, event: str, info: dict[str, Any]) -> None:
        """Told by httpx of each step of the request."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            stream = info["return_value"]
            stream.read = partial(self._read, stream.read)
        elif event == "http11.receive_response_headers.complete":
            self.complete = True

    async def _read(self, read: Callable[..., Awaitable[bytes]], *args: Any, **kwargs: Any) -> bytes:
        if self.complete:
            return await read(*args, **kwargs)
        if self.left <= 0:
            raise httpx.RemoteProtocolError(f"{_HEAD:,} bytes came, and no answer with them")
        data = await read(*args, **kwargs)
        self.left -= len(data)
        return data


async def _read(response: httpx.Response, max_bytes: int) -> bytes:
    body = b""
    if max_bytes > 0:
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) >= max_bytes:
                break
    return body[:max_bytes]

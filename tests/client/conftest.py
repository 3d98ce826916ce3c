"""Both clients behind one face, against a real server."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from django_jobqueue.client import AsyncJobQueue, JobQueue
from tests.api.conftest import make_caller

ROLES = ("enqueue_job", "work_job", "view_job", "manage_job")


class Awaited:
    """An ``AsyncJobQueue`` whose methods wait for their answer."""

    def __init__(self, queue: AsyncJobQueue, runner: asyncio.Runner) -> None:
        self._queue = queue
        self._runner = runner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._queue, name)
        if inspect.isasyncgenfunction(method):
            return lambda *args, **options: self._runner.run(_collect(method(*args, **options)))
        return lambda *args, **options: self._runner.run(method(*args, **options))


async def _collect(values: Any) -> list[Any]:
    return [value async for value in values]


class Losing:
    """Sends requests on; the answers to the first ``lost`` of them are dropped, though they were carried out."""

    def __init__(self, lost: int) -> None:
        self.lost = lost
        self.sent = 0

    def count(self) -> None:
        self.sent += 1
        if self.sent <= self.lost:
            raise httpx.ReadError("the connection was cut")


class LosingTransport(httpx.HTTPTransport):
    def __init__(self, losing: Losing) -> None:
        super().__init__()
        self._losing = losing

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        response.read()
        self._losing.count()
        return response


class AsyncLosingTransport(httpx.AsyncHTTPTransport):
    def __init__(self, losing: Losing) -> None:
        super().__init__()
        self._losing = losing

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        await response.aread()
        self._losing.count()
        return response


@pytest.fixture
def token(transactional_db: None) -> str:
    return make_caller("client", *ROLES).token


@pytest.fixture(params=["sync", "async"])
def connect(request: Any, live_server: Any, token: str) -> Iterator[Callable[..., Any]]:
    """Makes a client; ``connect(losing=Losing(1))`` loses the answer to its first request."""
    runner = asyncio.Runner()
    opened: list[Any] = []

    def connect(*, losing: Losing | None = None, tries: int = 5, **options: Any) -> Any:
        arguments = {"base_url": live_server.url, "headers": {"Authorization": f"Token {token}"}}
        if request.param == "sync":
            http = httpx.Client(transport=LosingTransport(losing) if losing else None, **arguments)
            client: Any = JobQueue(http=http, tries=tries)
        else:
            async_http = httpx.AsyncClient(
                transport=AsyncLosingTransport(losing) if losing else None, **arguments
            )
            client = Awaited(AsyncJobQueue(http=async_http, tries=tries), runner)
        opened.append(client)
        return client

    yield connect
    for client in opened:
        client.close() if isinstance(client, JobQueue) else client.aclose()
    runner.close()


@pytest.fixture
def queue(connect: Callable[..., Any]) -> Any:
    return connect()

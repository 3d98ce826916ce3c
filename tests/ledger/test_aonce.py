from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import async_to_sync

from django_jobqueue import ExecutionInDoubt, aonce
from django_jobqueue.exceptions import NestedExecution
from tests.ledger.conftest import entry

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "invoice:42"


def test_an_async_effect_is_awaited_and_replayed(gateway):
    async def effect(order):
        await asyncio.sleep(0)
        return gateway(order)

    async def twice():
        return [await aonce(KEY, effect, 7), await aonce(KEY, effect, 7)]

    assert async_to_sync(twice)() == [{"charge": 1}, {"charge": 1}]
    assert gateway.calls == [((7,), {})]


def test_a_plain_effect_is_called_in_a_thread(gateway):
    assert async_to_sync(aonce)(KEY, gateway, 7) == {"charge": 1}


def test_a_failure_of_an_async_effect_is_recorded():
    async def effect():
        raise ConnectionError("refused")

    with pytest.raises(ConnectionError):
        async_to_sync(aonce)(KEY, effect)
    assert (entry().status, entry().error) == ("failed", "ConnectionError: refused")


def test_a_cancelled_effect_in_halt_mode_is_in_doubt():
    async def cancelled():
        async with asyncio.timeout(0.2):
            await aonce(KEY, asyncio.sleep, 30, on_stale="halt")

    with pytest.raises(TimeoutError):
        async_to_sync(cancelled)()
    with pytest.raises(ExecutionInDoubt):
        async_to_sync(aonce)(KEY, asyncio.sleep, 0, on_stale="halt")


def test_an_async_effect_inside_itself_is_a_mistake(gateway):
    async def effect():
        return await aonce(KEY, gateway)

    with pytest.raises(NestedExecution):
        async_to_sync(aonce)(KEY, effect)
    assert gateway.calls == []

"""The commands' own client."""

from __future__ import annotations

import pytest
import trio

from broker.server.testing import client
from broker.server.testing.client import NoAnswer, own_client
from broker.server.testing.ram import RamBroker
from protocol.messages.metadata import MetadataRequest
from tests.broker.server.testing.world import World


def test_it_asks_several_things_on_one_connection(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        async with own_client(broker.port) as one:
            for version in (9, 12):
                answer = await one.call(MetadataRequest(topics=[]), version)
                assert [(node.host, node.port) for node in answer.brokers] == [("127.0.0.1", 4_000)]

    world.run(steps)


def test_nobody_at_the_port_is_told(world: World) -> None:
    async def steps(_: RamBroker) -> None:
        with pytest.raises(NoAnswer, match="refused"):
            async with own_client(1):
                pass

    world.run(steps)


def test_a_closed_connection_is_told(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        async with own_client(broker.port) as one:
            await broker.kill(power_cut=False)
            with pytest.raises((NoAnswer, trio.BrokenResourceError)):
                await one.call(MetadataRequest(topics=[]), 9)

    world.run(steps)


def test_silence_is_told_after_a_while(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(broker: RamBroker) -> None:
        await broker.pause()
        with pytest.raises(NoAnswer, match="is it paused, or its clock stopped"):
            async with own_client(broker.port) as one:
                await one.call(MetadataRequest(topics=[]), 9)

    monkeypatch.setattr(client, "ANSWER_SECONDS_MAX", 0.01)
    world.run(steps)

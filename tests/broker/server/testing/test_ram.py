"""One broker in memory, and its lives from start to stop."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from broker.config.config_keys import ConfigError
from broker.server.testing.commands import OPERATIONS
from broker.server.testing.faults import Fault
from broker.server.testing.ram import NotRunning, RamBroker
from tests.broker.server.testing.world import START_MS, World

RECORD: dict[str, object] = {"key": None, "value": "dg==", "timestamp_ms": None, "headers": []}


async def do(broker: RamBroker, operation: str, **arguments: object) -> object:
    return await OPERATIONS[operation](broker, arguments)


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks run until the condition is true."""
    while not condition():
        await trio.lowlevel.checkpoint()


async def make_topic(broker: RamBroker) -> None:
    await do(broker, "create_topic", topic="t", partitions=1, configs={})


async def produce(broker: RamBroker) -> object:
    return await do(broker, "produce", topic="t", partition=0, records=[RECORD])


async def count(broker: RamBroker) -> int:
    found = await do(broker, "records", topic="t", partition=None)
    assert isinstance(found, list)
    return len(found)


def test_an_orderly_restart_keeps_port_and_records(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        port = broker.port
        await make_topic(broker)
        await produce(broker)
        await broker.stop()
        assert not broker.is_running
        assert world.listening == {}
        await broker.start()
        assert broker.port == port
        assert await count(broker) == 1

    world.run(steps)


def test_an_orderly_stop_waits_for_no_slow_disk(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        await make_topic(broker)
        broker.clock.stop()
        broker.faults.add(Fault(kind="slow_disk", delay_ms=10_000, times=1))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce, broker)
            await until(lambda: broker.broker.has_disk_work)
            await broker.stop()
        await broker.start()
        assert await count(broker) == 1

    world.run(steps)


@pytest.mark.parametrize("power_cut", [False, True])
def test_what_was_acknowledged_outlives_a_kill(world: World, power_cut: bool) -> None:
    async def steps(broker: RamBroker) -> None:
        await make_topic(broker)
        await produce(broker)
        await broker.kill(power_cut=power_cut)
        with pytest.raises(NotRunning, match="broker-1 is stopped; start it first"):
            await broker.stop()
        await broker.start()
        assert await count(broker) == 1

    world.run(steps)


def test_killed_before_the_slow_disk_began_nothing_is_there(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        await make_topic(broker)
        broker.clock.stop()
        broker.faults.add(Fault(kind="slow_disk", delay_ms=10_000, times=1))

        async def lose() -> None:
            with pytest.raises(NotRunning):
                await produce(broker)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(lose)
            await until(lambda: broker.broker.has_disk_work)
            await broker.kill(power_cut=False)
        await broker.start()
        assert await count(broker) == 0

    world.run(steps)


def test_paused_it_answers_nobody_until_it_resumes(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        await make_topic(broker)
        await broker.pause()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce, broker)
            for _ in range(100):
                await trio.lowlevel.checkpoint()
            before = broker.broker.stats.requests.copy()
            await broker.resume()
        assert sum(stats.count for stats in before.values()) < sum(
            stats.count for stats in broker.broker.stats.requests.values()
        )

    world.run(steps)


def test_time_moves_deadline_by_deadline(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        broker.clock.stop()
        met: list[int] = []
        broker.broker.timers.add(START_MS + 500, met.append)
        broker.broker.timers.add(START_MS + 200, met.append)
        broker.broker.timers.add(START_MS + 2_000, met.append)
        await broker.advance(1_000)
        assert met == [START_MS + 200, START_MS + 500]
        assert broker.clock.now_ms() == START_MS + 1_000

    world.run(steps)


def test_time_moves_for_a_stopped_broker_too(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        await broker.stop()
        await broker.advance(1_000)
        assert broker.clock.now_ms() == START_MS + 1_000

    world.run(steps)


def test_a_paused_broker_meets_its_deadlines_when_it_goes_on(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        met: list[int] = []
        await broker.pause()
        broker.broker.timers.add(START_MS + 500, met.append)
        await broker.advance(1_000)
        assert met == []
        await broker.resume()
        await until(lambda: bool(met))
        assert met == [START_MS + 1_000]

    world.run(steps)


def test_a_failed_sync_is_told_and_the_next_produce_works(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        await make_topic(broker)
        broker.faults.add(Fault(kind="fail_sync", times=1))
        with pytest.raises(Exception, match="KAFKA_STORAGE_ERROR"):
            await produce(broker)
        assert await produce(broker) == [0]

    world.run(steps)


def test_its_own_fault_ends_it_and_nobody_else(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        def fail(_now_ms: int) -> None:
            raise RuntimeError("out of order")

        broker.broker.timers.add(START_MS, fail)
        world.now_ms += 1
        async with await world.connect("", broker.port) as client:
            assert await client.receive_some(1) == b""
        with pytest.raises(NotRunning, match="broker-1 has failed: RuntimeError: out of order; see its log"):
            await broker.stop()
        await broker.start()
        await make_topic(broker)

    world.run(steps)


def test_every_connection_can_be_closed(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        async with await world.connect("", broker.port) as client:
            await until(lambda: bool(broker.broker.connections))
            assert broker.disconnect() == 1
            assert await client.receive_some(1) == b""

    world.run(steps)


def test_settings_come_on_top_of_its_own(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        assert broker.broker.config.num_partitions == 3
        assert broker.broker.config.kawal_vnodes == 1

    world.run(steps, num_partitions=3)


def test_a_setting_that_cannot_be_is_refused(world: World) -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            with pytest.raises(ConfigError, match="did you mean"):
                await world.broker(nursery, num_partition=3)

    trio.run(main)

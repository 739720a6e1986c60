"""The commands that a test can send to one broker."""

from __future__ import annotations

from typing import Any

import pytest

from broker.server.testing.commands import OPERATIONS, Refused, api_named, error_named
from broker.server.testing.ram import NotRunning, RamBroker
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from tests.broker.server.testing.world import START_MS, World

METADATA = bytes.fromhex("0000000e 0003 0000 00000001 ffff 00000000")
"""Metadata v0 of all topics by a client without a name."""

A, B = "YQ==", "Yg=="


async def do(broker: RamBroker, operation: str, **arguments: object) -> Any:
    return await OPERATIONS[operation](broker, arguments)


def record(value: str | None, **more: object) -> dict[str, object]:
    return {"key": None, "value": value, "timestamp_ms": None, "headers": [], **more}


def test_topics_come_and_go(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        await do(broker, "create_topic", topic="t", partitions=2, configs={"retention.ms": "1000"})
        assert await do(broker, "topics") == {"t": 2}
        with pytest.raises(Refused, match="topic 't' was not created: TOPIC_ALREADY_EXISTS"):
            await do(broker, "create_topic", topic="t", partitions=2, configs={})
        await do(broker, "delete_topic", topic="t")
        assert await do(broker, "topics") == {}
        with pytest.raises(Refused, match="topic 't' was not deleted: UNKNOWN_TOPIC_OR_PARTITION"):
            await do(broker, "delete_topic", topic="t")

    world.run(steps)


def test_records_come_back_as_they_were(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        await do(broker, "create_topic", topic="t", partitions=2, configs={})
        first = [record(A, key=B, headers=[("h", A), ("n", None)]), record(None, timestamp_ms=5)]
        assert await do(broker, "produce", topic="t", partition=0, records=first) == [0, 1]
        assert await do(broker, "produce", topic="t", partition=0, records=[record(A)]) == [2]
        assert await do(broker, "produce", topic="t", partition=1, records=[record(B)]) == [0]
        found = await do(broker, "records", topic="t", partition=None)
        assert [(record["partition"], record["offset"], record["value"]) for record in found] == [
            (0, 0, A),
            (0, 1, None),
            (0, 2, A),
            (1, 0, B),
        ]
        assert found[0]["key"] == B
        assert found[0]["headers"] == [("h", A), ("n", None)]
        assert [record["timestamp_ms"] for record in found] == [START_MS, 5, START_MS, START_MS]
        assert len(await do(broker, "records", topic="t", partition=1)) == 1

    world.run(steps)


def test_topics_and_partitions_that_are_not_there_are_named(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        with pytest.raises(Refused, match="topic 'gone': UNKNOWN_TOPIC_OR_PARTITION"):
            await do(broker, "records", topic="gone", partition=None)
        await do(broker, "create_topic", topic="t", partitions=1, configs={})
        with pytest.raises(Refused, match="'t' has no partition 7: it has 1"):
            await do(broker, "records", topic="t", partition=7)
        with pytest.raises(Refused, match="nothing was stored in 't' partition 7"):
            await do(broker, "produce", topic="t", partition=7, records=[record(A)])

    world.run(steps)


async def ask_until_it_fails(broker: RamBroker) -> None:
    while True:
        await do(broker, "topics")


def test_a_broker_that_does_not_run_says_why(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        await do(broker, "kill", power_cut=False)
        with pytest.raises(NotRunning, match="broker-1 is stopped; start it first"):
            await do(broker, "topics")
        await do(broker, "start")

        def fail(_now_ms: int) -> None:
            raise RuntimeError("out of order")

        broker.broker.timers.add(START_MS, fail)
        world.now_ms += 1
        with pytest.raises(NotRunning, match="broker-1 has failed: RuntimeError: out of order; see its log"):
            await ask_until_it_fails(broker)

    world.run(steps)


def test_a_group_that_committed_nothing_has_nothing(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        assert await do(broker, "committed", group="g") == []

    world.run(steps)


def test_faults_are_added_counted_and_healed(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        number = await do(
            broker, "add_fault", kind="fail_produce", error="INVALID_RECORD", topic="t", times=2
        )
        assert broker.faults.of_request(ApiKey.PRODUCE)[0].error == ErrorCode.INVALID_RECORD
        assert await do(broker, "fault_hits", number=number) == 0
        await do(broker, "heal", number=number)
        await do(broker, "add_fault", kind="slow", api="Fetch", delay_ms=5)
        await do(broker, "heal")
        assert broker.faults.of_request(ApiKey.PRODUCE) == []
        assert broker.faults.of_request(ApiKey.FETCH) == []

    world.run(steps)


def test_names_of_apis_and_errors_are_taken_in_several_spellings() -> None:
    assert api_named("Produce") == api_named("PRODUCE") == ApiKey.PRODUCE
    assert api_named("OffsetCommit") == api_named("offset_commit") == ApiKey.OFFSET_COMMIT
    assert error_named("INVALID_RECORD") == ErrorCode.INVALID_RECORD
    with pytest.raises(Refused, match="'Produze' is not an API"):
        api_named("Produze")
    with pytest.raises(Refused, match="'OOPS' is not an error"):
        error_named("OOPS")


def test_the_clock_is_stopped_moved_and_started(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        assert await do(broker, "stop_clock") == START_MS
        world.now_ms += 70
        assert await do(broker, "advance", ms=1_500) == START_MS + 1_500
        assert await do(broker, "start_clock") == START_MS + 1_500

    world.run(steps)


def test_status_and_log_tell_of_its_lives(world: World) -> None:
    async def steps(broker: RamBroker) -> None:
        await do(broker, "topics")
        async with await world.connect("", broker.port) as client:
            await client.send_all(METADATA)
            await client.receive_some()
            status = await do(broker, "status")
        assert status["running"]
        assert status["requests"] == {"metadata": 1}
        assert status["connections"] == 1
        await do(broker, "pause")
        await do(broker, "resume")
        assert await do(broker, "disconnect") <= 1
        await do(broker, "stop")
        assert not (await do(broker, "status"))["running"]
        await do(broker, "start")
        await do(broker, "restart")
        await do(broker, "kill", power_cut=True)
        await do(broker, "restart")
        assert await do(broker, "log") == list(broker.lines)

    world.run(steps)

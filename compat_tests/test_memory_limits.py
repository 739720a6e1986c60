"""The memory of what the gateway remembers of clients: no more than its limits, whatever clients name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat_tests.batches import Batch
from compat_tests.broker import Broker
from compat_tests.conftest import StartBroker
from compat_tests.overload.figures import memory_of, peak_memory_of
from compat_tests.overload.memory import LIMIT_MIB
from compat_tests.requests import produce
from compat_tests.topics import create_topic
from compat_tests.wire import RawClient, raw_client
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

pytestmark = pytest.mark.only_kawal(reason="the limits are the gateway's; Kafka's memory is a heap")

MIB = 1 << 20
FULL = ErrorCode.COORDINATOR_NOT_AVAILABLE
PATIENCE_SECONDS = 120

WIDE = 3_500
"""The partitions of a request with 4 KiB of metadata for each: 14 MiB."""

GROUPS = 40
"""Together 140,000 offsets: without a limit they took 640 MiB."""

PARTITIONS, ROUNDS = 10_000, 24
PRODUCERS, WRITTEN = 300, 33
"""Together as many in each round: each remembers a producer, in few partitions, whose records take little."""


def commit(client: RawClient, group_id: str, count: int, metadata: str = "") -> set[int]:
    """Commit an offset in so many partitions; return the error codes."""
    parts = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=7, committed_metadata=metadata)
        for index in range(count)
    ]
    topic = OffsetCommitRequestTopic(name="wide", partitions=parts)
    answer = client.call(OffsetCommitRequest(group_id=group_id, member_id="", topics=[topic]), 8)
    return {part.error_code for part in answer.topics[0].partitions}


def write(client: RawClient, first_id: int) -> set[int]:
    """Write the first batch of some hundred producers into some partitions; return the error codes."""
    codes = set()
    for producer_id in range(first_id, first_id + PRODUCERS):
        batch = Batch(producer_id=producer_id, producer_epoch=0, base_sequence=0).encode()
        parts = [PartitionProduceData(index=index, records=batch) for index in range(WRITTEN)]
        topic = TopicProduceData(name="wide", partition_data=parts)
        client.send(ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[topic]), 9)
    for _ in range(PRODUCERS):
        answer = client.receive()
        codes |= {part.error_code for part in answer.responses[0].partition_responses}
    return codes


def test_offsets_of_ever_more_groups_fit_into_a_small_machine_and_none_acknowledged_is_lost(
    start_broker: StartBroker,
) -> None:
    broker = start_broker()
    create_topic(broker, "wide", WIDE)
    with raw_client(broker) as client:
        client.socket.settimeout(PATIENCE_SECONDS)
        codes = [commit(client, f"group-{number}", WIDE, "x" * 4_096) for number in range(GROUPS)]
        assert codes[0] == {0}
        assert codes[-1] == {FULL}
        assert set().union(*codes) == {0, FULL}
        assert commit(client, "group-0", WIDE, "x" * 4_096) == {0}
        known = client.call(
            OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="group-0", topics=None)]), 8
        )
        offsets = [part.committed_offset for part in known.groups[0].topics[0].partitions]
        assert offsets == [7] * WIDE
        assert produce(client, "wide", Batch()).error_code == 0
    assert peak_memory_of(broker) < LIMIT_MIB
    assert " ERROR " not in broker.process.output()


@pytest.mark.parametrize(
    ("setting", "grow"),
    [
        ("kawal_offsets_max_bytes", lambda client, number: commit(client, f"g-{number}", PARTITIONS)),
        ("kawal_producers_max_bytes", lambda client, number: write(client, number * PRODUCERS)),
    ],
    ids=["offsets", "producers"],
)
def test_the_limit_is_what_keeps_memory_from_growing(
    start_broker: StartBroker, setting: str, grow: Callable[[RawClient, int], set[int]]
) -> None:
    def grown(limit_mib: int) -> float:
        """Return by how much memory grows after a first round, with this limit."""
        broker = start_broker(**{setting: str(limit_mib * MIB)}, kawal_tail_cache_bytes="65536")
        return _grown(broker, grow)

    limited, unlimited = grown(8), grown(8_000)
    # 230,000 more of them take 35 to 45 MiB more than the 8 MiB with room for 30,000; the rest is noise.
    assert unlimited - limited > 12, (limited, unlimited)


def _grown(broker: Broker, grow: Callable[[RawClient, int], set[int]]) -> float:
    create_topic(broker, "wide", PARTITIONS)
    with raw_client(broker) as client:
        client.socket.settimeout(PATIENCE_SECONDS)
        assert grow(client, 0) == {0}
        before = memory_of(broker)
        for number in range(1, ROUNDS):
            grow(client, number)
    return memory_of(broker) - before

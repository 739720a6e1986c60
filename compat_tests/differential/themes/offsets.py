"""ListOffsets and OffsetForLeaderEpoch: every special time and epoch in every version."""

from __future__ import annotations

from compat_tests.differential.pools import INT64_MAX
from compat_tests.differential.steps import BASE_MS, Step, Steps
from compat_tests.differential.world import World
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

TIMES = (*range(-8, 3), BASE_MS - 1, BASE_MS, BASE_MS + 1, BASE_MS + 1001, BASE_MS + 7004, BASE_MS + 7005)
EPOCHS = (-2, -1, 0, 1, 5)


def steps(world: World) -> Steps:
    """Return the whole theme."""
    yield from world.create()
    yield from world.fill()
    places = [(world.one, 0), (world.three, 0), (world.three, 1), (world.three, 2), (world.stamped, 0)]
    for version in range(1, 12):
        for time_ms in (*TIMES, INT64_MAX, -INT64_MAX - 1):
            topics = [_asked(name, index, time_ms) for name, index in places]
            request = ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics)
            yield Step(request, version)
        epochs = [_asked(name, 0, -1, epoch) for name in (world.one, world.never) for epoch in EPOCHS[1:4]]
        if version >= 4:
            for topic in epochs:
                yield Step(ListOffsetsRequest(replica_id=-1, topics=[topic]), version)
    yield from _epochs(world)


def _asked(name: str, index: int, time_ms: int, epoch: int = -1) -> ListOffsetsTopic:
    partition = ListOffsetsPartition(partition_index=index, timestamp=time_ms, current_leader_epoch=epoch)
    return ListOffsetsTopic(name=name, partitions=[partition])


def _epochs(world: World) -> Steps:
    for version in range(2, 5):
        for epoch in EPOCHS:
            for current in EPOCHS:
                topics = [
                    OffsetForLeaderTopic(
                        topic=name,
                        partitions=[
                            OffsetForLeaderPartition(
                                partition=index, current_leader_epoch=current, leader_epoch=epoch
                            )
                            for index in (0, 1)
                        ],
                    )
                    for name in (world.one, world.three, world.never)
                ]
                yield Step(OffsetForLeaderEpochRequest(topics=topics), version)

"""Transactions in both client protocols: every request in every state, in order and out of it."""

from __future__ import annotations

from typing import Any

from compat_tests.differential.pools import INT32_MAX, INT64_MAX
from compat_tests.differential.steps import Step, Steps, producer
from compat_tests.differential.world import World, batch, create_topics, new_topic, produce_step
from compat_tests.differential.writer import Writer
from compat_tests.requests import fetch_request
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.list_transactions import ListTransactionsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)


def steps(world: World) -> Steps:
    """Return the whole theme."""
    yield from world.create()
    # Markers have the present time, and records one in the past: Kafka would begin a segment with each.
    world.one, world.three, world.stamped = (f"{world.prefix}-{name}" for name in ("a", "b", "c"))
    for_ever: dict[str, str | None] = {"segment.ms": str(INT64_MAX)}
    yield create_topics(
        new_topic(world.one, 1, for_ever),
        new_topic(world.three, 3, for_ever),
        new_topic(world.stamped, 1, {**for_ever, "message.timestamp.type": "LogAppendTime"}),
    )
    yield from _bad_fields(world)
    yield from _first_protocol(world, Writer(world, 0, v2=False))
    yield from _second_protocol(world, Writer(world, 1, v2=True))
    yield from _instances(world, Writer(world, 2, v2=False))
    yield from _instances(world, Writer(world, 3, v2=True))
    yield from _offsets(world, Writer(world, 4, v2=False))
    yield from _offsets(world, Writer(world, 5, v2=True))
    yield from _ends(world, 6, v2=False)
    yield from _ends(world, 8, v2=True)
    yield from _markers(world, Writer(world, 10, v2=True))
    yield from _lists(world)


def _look(topic: str) -> Steps:
    """Show what readers of both kinds see."""
    for level in (0, 1):
        yield Step(fetch_request(topic, 0, isolation_level=level), 12)
        for time_ms in (-1, -3, 0):
            partition = ListOffsetsPartition(partition_index=0, timestamp=time_ms)
            asked = [ListOffsetsTopic(name=topic, partitions=[partition])]
            yield Step(ListOffsetsRequest(replica_id=-1, isolation_level=level, topics=asked), 7)


def _bad_fields(world: World) -> Steps:
    name = f"{world.prefix}-bad"
    for version in range(6):
        for timeout_ms in (0, -1, 900_001, INT32_MAX):
            yield Step(
                InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout_ms), version
            )
        yield Step(InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000), version)
    writer = Writer(world, 999, v2=False)
    identities: tuple[dict[str, Any], ...] = ({}, {"name": ""})
    for identity in identities:
        for version in range(4):
            yield writer.add((world.one, 0), version=version, **identity)
        for version in range(5):
            yield writer.add_group(version, **identity)
        for version in range(6):
            yield writer.end(commit=True, version=version, **identity)
    for version in range(6):
        yield writer.commit_offset(world.one, 1, version)
    for version in (9, 11, 12):
        yield writer.write(world.one, version=version)
        yield writer.write(world.one, version=version, name=None)


def _first_protocol(world: World, writer: Writer) -> Steps:
    yield writer.init()
    for commit in (True, False):
        yield writer.end(commit=commit)
    yield writer.add((world.one, 0), (world.never, 0), (world.one, 7))
    for version in (9, 10, 11):
        yield writer.write(world.one, version=version)
    yield writer.add((world.one, 0), (world.three, 1))
    yield writer.add((world.one, 0))
    yield writer.describe()
    for commit in (True, False):
        yield from _transaction(world, writer, commit=commit)
        for again in (True, False):
            yield writer.end(commit=again)
        yield writer.write(world.one)
        yield writer.describe()
    for field, value in (("epoch", 7), ("epoch", -1), ("producer", producer(998))):
        for version in range(4):
            yield writer.add((world.one, 0), version=version, **{field: value})
        for version in range(5):
            yield writer.add_group(version, **{field: value})
            yield writer.end(commit=True, version=version, **{field: value})
        yield writer.write(world.one, **{field: value})


def _transaction(world: World, writer: Writer, *, commit: bool) -> Steps:
    if not writer.v2:
        yield writer.add((world.one, 0), (world.three, 1))
    for _ in range(2):
        yield writer.write(world.one)
        writer.written(world.one)
    yield writer.write(world.three, 1)
    writer.written(world.three, 1)
    yield produce_step({(world.one, 0): batch(1, 5)})
    yield from _look(world.one)
    yield Step(DescribeProducersRequest(topics=[TopicRequest(name=world.never, partition_indexes=[0])]), 0)
    yield writer.end(commit=commit)
    if writer.v2:
        writer.epoch += 1
    yield from _look(world.one)


def _second_protocol(world: World, writer: Writer) -> Steps:
    yield writer.init()
    yield writer.end(commit=True)
    yield writer.end(commit=False)
    yield writer.end(commit=False)
    writer.epoch = 1
    for commit in (True, False, True):
        yield from _transaction(world, writer, commit=commit)
        for again in (True, False):
            yield writer.end(commit=again, epoch=writer.epoch - 1)
        yield writer.end(commit=True)
        yield writer.write(world.one, epoch=writer.epoch - 1)
        yield writer.write(world.one, epoch=writer.epoch + 1)
    yield writer.write(world.one, producer=producer(998))
    yield writer.end(commit=True, epoch=writer.epoch + 2)
    yield writer.write(world.never)
    yield writer.write(world.one, 3)


def _instances(world: World, writer: Writer) -> Steps:
    """Let several instances have one id, and errors after which a producer asks for its next epoch."""
    yield writer.init()
    if not writer.v2:
        yield writer.add((world.one, 0))
    yield writer.write(world.one)
    yield writer.init()
    yield writer.describe()
    yield writer.init()
    yield writer.describe()
    for version in range(6):
        yield writer.end(commit=True, version=version)
        yield writer.end(commit=False, version=version)
    for version in range(4):
        yield writer.add((world.one, 0), version=version)
    yield writer.write(world.one)
    yield writer.commit_offset(world.one, 1, 4)
    yield writer.commit_offset(world.one, 1, 5)
    writer.epoch = 2
    for version in (3, 4, 5):
        for epoch in (2, 2, 1, 0, 3, 3, 4, 9):
            yield writer.init(version, producer_id=writer.producer, producer_epoch=epoch)
        yield writer.init(version, producer_id=producer(998), producer_epoch=2)
        yield writer.init(version, producer_id=-1, producer_epoch=2)
        yield writer.init(version, producer_id=writer.producer, producer_epoch=-1)
    yield writer.describe()
    yield writer.init(0)
    yield writer.init(1)


def _offsets(world: World, writer: Writer) -> Steps:
    yield writer.init()
    for version in range(5):
        yield writer.commit_offset(world.one, 1, version)
    version = 5 if writer.v2 else 4
    if not writer.v2:
        yield writer.add_group()
    for index, topic in ((0, world.one), (0, world.never), (9, world.one)):
        yield writer.commit_offset(topic, 11, version, index)
    for fields in (
        {"generation_id": 1},
        {"member_id": "x"},
        {"group_instance_id": "x"},
        {"generation_id": 1, "member_id": "x"},
        {"epoch": 9},
    ):
        yield writer.commit_offset(world.one, 12, version, **fields)
    for stable in (False, True):
        yield writer.progress(world.one, stable=stable)
    yield writer.end(commit=True)
    writer.epoch += writer.v2
    for stable in (False, True):
        yield writer.progress(world.one, stable=stable)
    if not writer.v2:
        yield writer.add_group()
    yield writer.commit_offset(world.one, 20, version)
    yield Step(
        OffsetCommitRequest(
            group_id=writer.group,
            generation_id_or_member_epoch=-1,
            member_id="",
            topics=[
                OffsetCommitRequestTopic(
                    name=world.one,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=0, committed_offset=30, committed_metadata="m"
                        )
                    ],
                )
            ],
        ),
        7,
    )
    yield writer.end(commit=True)
    writer.epoch += writer.v2
    yield writer.progress(world.one, stable=True)
    if not writer.v2:
        yield writer.add_group()
    yield writer.commit_offset(world.one, 40, version)
    yield writer.end(commit=False)
    yield writer.progress(world.one, stable=True)


def _ends(world: World, first: int, *, v2: bool) -> Steps:
    """Send every version of EndTxn to each state, whatever the protocol of the transaction."""
    for commit in (True, False):
        writer = Writer(world, first + (not commit), v2=v2)
        yield writer.init()
        if not v2:
            yield writer.add((world.three, 2))
        yield writer.write(world.three, 2)
        yield writer.end(commit=commit)
        for epoch in (0, 1):
            for version in range(6):
                if version == 5 and epoch == 1 and v2:
                    continue
                for again in (True, False):
                    if version == 5 and not again and not v2 and epoch == 0:
                        continue
                    yield writer.end(commit=again, version=version, epoch=epoch)


def _markers(world: World, writer: Writer) -> Steps:
    yield writer.init()
    yield writer.write(world.stamped)
    for version, transaction_version, epoch, commit in (
        (2, 2, 0, False),
        (2, 2, 1, False),
        (1, 0, 0, True),
        (1, 0, 1, True),
        (2, 0, 1, True),
    ):
        for topic in (world.stamped, world.never):
            marker = WritableTxnMarker(
                producer_id=writer.producer,
                producer_epoch=epoch,
                transaction_result=commit,
                topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[0])],
                coordinator_epoch=0,
                transaction_version=transaction_version,
            )
            yield Step(WriteTxnMarkersRequest(markers=[marker]), version)
        yield Step(fetch_request(world.stamped, 0, isolation_level=1), 12)
    yield writer.describe()
    yield Step(DescribeTransactionsRequest(transactional_ids=[f"{world.prefix}-unknown", ""]), 0)


def _lists(world: World) -> Steps:
    mine = f"{world.prefix}-id-.*"
    for states in ([], ["Ongoing"], ["ongoing", "Nothing"], ["Empty", "CompleteAbort", "Dead"]):
        request = ListTransactionsRequest(
            state_filters=states, producer_id_filters=[], transactional_id_pattern=mine
        )
        yield Step(request, 2)
    for pattern in ("(", "", f"{world.prefix}-id-[0-3]"):
        request = ListTransactionsRequest(
            state_filters=["Nothing"] if not pattern else [],
            producer_id_filters=[],
            transactional_id_pattern=pattern,
        )
        yield Step(request, 2)

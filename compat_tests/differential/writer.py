"""A transactional producer in sequences: its requests, with stand-ins for ids."""

from __future__ import annotations

from typing import Any

from compat_tests.differential.steps import Step, producer
from compat_tests.differential.world import World, batch, produce_step
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

TRANSACTIONAL = 0x10


class Writer:
    """A transactional producer: its requests, with its stand-in for a producer id."""

    def __init__(self, world: World, number: int, *, v2: bool) -> None:
        self.name = f"{world.prefix}-id-{number}"
        self.group = f"{world.prefix}-group-{number}"
        self.producer = producer(number)
        self.epoch = 0
        self.v2 = v2
        self._sequences: dict[tuple[str, int, int], int] = {}

    def init(self, version: int = 5, **fields: Any) -> Step:
        values = {"transactional_id": self.name, "transaction_timeout_ms": 60_000, **fields}
        return Step(InitProducerIdRequest(**values), version)

    def add(self, *places: tuple[str, int], version: int = 3, epoch: int | None = None, **ids: Any) -> Step:
        values = {"name": self.name, "producer": self.producer, **ids}
        topics: dict[str, list[int]] = {}
        for name, index in places:
            topics.setdefault(name, []).append(index)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=values["name"],
            v3_and_below_producer_id=values["producer"],
            v3_and_below_producer_epoch=self.epoch if epoch is None else epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in topics.items()
            ],
        )
        return Step(request, version)

    def write(
        self,
        topic: str,
        index: int = 0,
        *,
        version: int | None = None,
        epoch: int | None = None,
        **fields: Any,
    ) -> Step:
        epoch = self.epoch if epoch is None else epoch
        key = (topic, index, epoch)
        sequence = self._sequences.get(key, 0)
        made = batch(1, sequence).but(
            attributes=TRANSACTIONAL,
            producer_id=fields.get("producer", self.producer),
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        return produce_step(
            {(topic, index): made},
            version=version or (12 if self.v2 else 9),
            transactional_id=fields.get("name", self.name),
        )

    def written(self, topic: str, index: int = 0) -> None:
        """Note that a batch was stored: the next one has the sequence after it."""
        key = (topic, index, self.epoch)
        self._sequences[key] = self._sequences.get(key, 0) + 1

    def end(self, *, commit: bool, version: int | None = None, epoch: int | None = None, **ids: Any) -> Step:
        values = {"name": self.name, "producer": self.producer, **ids}
        request = EndTxnRequest(
            transactional_id=values["name"],
            producer_id=values["producer"],
            producer_epoch=self.epoch if epoch is None else epoch,
            committed=commit,
        )
        return Step(request, version if version is not None else (5 if self.v2 else 3))

    def add_group(self, version: int = 3, epoch: int | None = None, **ids: Any) -> Step:
        values = {"name": self.name, "producer": self.producer, **ids}
        request = AddOffsetsToTxnRequest(
            transactional_id=values["name"],
            producer_id=values["producer"],
            producer_epoch=self.epoch if epoch is None else epoch,
            group_id=self.group,
        )
        return Step(request, version)

    def commit_offset(self, topic: str, offset: int, version: int, index: int = 0, **fields: Any) -> Step:
        epoch = fields.pop("epoch", self.epoch)
        progress = TxnOffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_metadata="m"
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=self.group,
            producer_id=self.producer,
            producer_epoch=epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[progress])],
            **fields,
        )
        return Step(request, version)

    def progress(self, topic: str, *, stable: bool) -> Step:
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
        group = OffsetFetchRequestGroup(group_id=self.group, topics=topics)
        return Step(OffsetFetchRequest(groups=[group], require_stable=stable), 8)

    def describe(self) -> Step:
        return Step(DescribeTransactionsRequest(transactional_ids=[self.name]), 0)

"""Turns of a player about transactions: their steps in any order, fenced, repeated, late, and left open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from compat_tests.hunt.link import Link
from compat_tests.hunt.player import Player
from compat_tests.hunt.records import odd_batch
from compat_tests.hunt.topic_actors import PARTITIONS, STORED
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.record_reader import Record
from protocol.record_writer import encode_batch

IDS = tuple(f"transaction-{number}" for number in range(6))
TIMEOUTS_MS = (1_000, 1_000, 60_000, 900_001, 0, -1)


class Producer:
    """A transactional producer as a client knows it."""

    def __init__(self, player: Player, link: Link) -> None:
        self.player = player
        self.link = link
        self.chance: Random = player.chance
        self.name = self.chance.choice(IDS) if self.chance.random() < 0.9 else player.world.odd_text()
        self.id, self.epoch = -1, -1
        self.sequences: Counter[tuple[str, int]] = Counter()

    def ask(self, message: Any, version: int) -> Any:
        """Return the answer, if there is one."""
        answers = self.player.ask(self.link, self.player.request(message, version))
        return answers[0] if answers else None

    def stamp(self) -> tuple[int, int]:
        """Return id and epoch, now and then others."""
        if self.chance.random() < 0.9:
            return self.id, self.epoch
        return self.chance.choice((self.id, -1, 0, 2**63 - 1)), self.chance.choice(
            (self.epoch - 1, 32_767, -1)
        )

    def init(self) -> None:
        """Ask for an id, which aborts what is open."""
        timeout_ms = self.chance.choice(TIMEOUTS_MS)
        version = self.chance.randint(0, 5)
        wanted = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=timeout_ms)
        if version >= 3 and self.chance.random() < 0.3:
            wanted.producer_id, wanted.producer_epoch = self.stamp()
        answer = self.ask(wanted, version)
        if answer is not None and not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()

    def add_partitions(self) -> None:
        """Add partitions, thousands at times, and some that are not there."""
        count = self.chance.choice((1, PARTITIONS, PARTITIONS, 5_000))
        topic = AddPartitionsToTxnTopic(name=self.chance.choice(STORED), partitions=list(range(count)))
        producer_id, epoch = self.stamp()
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[topic] * self.chance.choice((1, 1, 3)),
        )
        self.ask(request, self.chance.randint(0, 3))

    def produce(self) -> None:
        """Produce a batch that is part of the transaction, or says so."""
        name, index = self.chance.choice(STORED), self.chance.randrange(PARTITIONS)
        producer_id, epoch = self.stamp()
        batch = bytes(
            encode_batch(
                [Record(number, 1_700_000_000_000, b"key", b"value") for number in range(3)],
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=self.sequences[name, index],
                transactional=True,
            )
        )
        if self.chance.random() < 0.1:
            batch = odd_batch(self.chance, [(producer_id, epoch)])
        request = ProduceRequest(
            transactional_id=self.name if self.chance.random() < 0.9 else None,
            acks=-1,
            timeout_ms=1_000,
            topic_data=[
                TopicProduceData(name=name, partition_data=[PartitionProduceData(index=index, records=batch)])
            ],
        )
        answer = self.ask(request, self.chance.randint(9, 12))
        if answer is not None and not answer.responses[0].partition_responses[0].error_code:
            self.sequences[name, index] += 3

    def offsets(self) -> None:
        """Commit offsets in the transaction, with and without saying so first."""
        group, (producer_id, epoch) = self.player.world.group(), self.stamp()
        if self.chance.random() < 0.7:
            added = AddOffsetsToTxnRequest(
                transactional_id=self.name, producer_id=producer_id, producer_epoch=epoch, group_id=group
            )
            self.ask(added, self.chance.randint(0, 4))
        count = self.chance.choice((1, 3, 5_000))
        partitions = [
            TxnOffsetCommitRequestPartition(
                partition_index=index, committed_offset=self.chance.choice((0, 7, -1)), committed_metadata=""
            )
            for index in range(count)
        ]
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=producer_id,
            producer_epoch=epoch,
            topics=[TxnOffsetCommitRequestTopic(name=self.chance.choice(STORED), partitions=partitions)],
        )
        self.ask(request, self.chance.randint(0, 5))

    def end(self) -> None:
        """Commit or abort."""
        producer_id, epoch = self.stamp()
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=self.chance.random() < 0.5,
        )
        version = self.chance.randint(0, 5)
        for _ in range(self.chance.choice((1, 1, 1, 2))):
            answer = self.ask(request, version)
        if version >= 5 and answer is not None and not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()


STEPS: tuple[Callable[[Producer], None], ...] = (
    *(Producer.produce,) * 5,
    *(Producer.add_partitions,) * 3,
    *(Producer.offsets,) * 2,
    *(Producer.end,) * 3,
    Producer.init,
)


def transactions(player: Player) -> None:
    """Take the steps of transactions in any order, and leave the last one open."""
    link = player.link()
    try:
        producer = Producer(player, link)
        producer.init()
        for _ in range(player.chance.choice((5, 25, 60))):
            player.chance.choice(STEPS)(producer)
    finally:
        link.close()

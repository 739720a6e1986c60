"""Producers of the simulation: idempotent ones, which send again until they succeed, and plain ones."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.sim.actors import GONE, Actor
from tests.sim.history import History
from tests.sim.world import World

IN_FLIGHT_MAX = 5

HONEST = (ErrorCode.KAFKA_STORAGE_ERROR, *GONE)
"""The errors that a producer may get although it makes no mistake."""


@dataclass(slots=True, eq=False)
class Batch:
    """Some records on their way."""

    values: list[bytes]
    data: bytes


class Producer(Actor):
    """The common part of both kinds: values that no other one sends, and a partition to send to."""

    def __init__(self, world: World, history: History, chance: Random, name: str) -> None:
        super().__init__(world, history, chance, name)
        self.target: tuple[UUID, str, int] | None = None
        self._counter = 0

    def choose_target(self) -> bool:
        """Pick a partition to write to; return False when there is none."""
        topics = self.history.live_topics()
        if not topics:
            return False
        topic_id, facts = self.chance.choice(topics)
        self.target = (topic_id, facts.name, self.chance.randrange(max(1, facts.partition_count)))
        return True

    def new_batch(self, *, producer_id: int = -1, sequence: int = -1) -> Batch:
        """Return one to four records with values of their own."""
        values = []
        for _ in range(self.chance.randint(1, 4)):
            values.append(b"%s:%d" % (self.name.encode(), self._counter))
            self._counter += 1
        self.history.sent.update(values)
        codec = self.chance.choice((Codec.NONE, Codec.NONE, Codec.NONE, Codec.GZIP))
        # Four of the largest make a batch within the 2,000 bytes of the smallest segments.
        filler = ("f", bytes(self.chance.choice((0, 0, 100, 420))))
        records = [
            Record(number, self.world.now_ms, None, value, (filler,)) for number, value in enumerate(values)
        ]
        epoch = 0 if producer_id >= 0 else -1
        data = encode_batch(
            records, codec=codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
        )
        return Batch(values, bytes(data))

    def request(self, batch: Batch, acks: int, version: int) -> ProduceRequest:
        """Return the request that carries one batch to the target."""
        assert self.target is not None
        topic_id, name, index = self.target
        topic = TopicProduceData(partition_data=[PartitionProduceData(index=index, records=batch.data)])
        if version >= 13:
            topic.topic_id = topic_id
        else:
            topic.name = name
        return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic])


class PlainProducer(Producer):
    """A producer that sends every batch once, with any acks."""

    def step(self) -> str:
        """Send a batch."""
        if not self.choose_target():
            return "idle"
        assert self.target is not None
        topic_id, _, index = self.target
        batch = self.new_batch()
        acks = self.chance.choice((0, 1, -1, -1))
        version = self.chance.randint(3, 13)

        def done(answer: Any) -> None:
            if answer is None:
                return
            (partition,) = answer.responses[0].partition_responses
            if not partition.error_code:
                self.history.acknowledged(topic_id, index, partition.base_offset, batch.values)
                return
            assert partition.error_code in HONEST, partition
            if partition.error_code in GONE:
                assert self.history.topics[topic_id].deletion_asked, (
                    "a topic was deleted, but no client asked for it"
                )
            self.history.in_doubt.update(batch.values)

        self.open_link.send(self.request(batch, acks, version), version, done if acks else None)
        return f"sends {len(batch.values)} acks={acks} v{version}"


class IdempotentProducer(Producer):
    """A producer that sends in sequence, up to five batches ahead, and again from the first that failed."""

    def __init__(self, world: World, history: History, chance: Random, name: str) -> None:
        super().__init__(world, history, chance, name)
        self.producer_id: int | None = None
        self._asking = False
        self._sequence = 0
        self._unacknowledged: deque[Batch] = deque()
        self._in_flight = 0
        self._failed = False

    @property
    def is_done(self) -> bool:
        """True when everything sent was acknowledged or its topic was deleted."""
        return not self._unacknowledged and not self._in_flight

    def step(self, *, drain: bool = False) -> str:
        """Do the next thing: ask for an id, send again what failed, or send something new."""
        if self.producer_id is None:
            return self._ask_for_id()
        if self.target is None and not self.choose_target():
            return "idle"
        if self._failed:
            return self._send_again()
        if drain or len(self._unacknowledged) >= IN_FLIGHT_MAX:
            return "waits"
        batch = self.new_batch(producer_id=self.producer_id, sequence=self._sequence)
        self._sequence += len(batch.values)
        self._unacknowledged.append(batch)
        self._send(batch, is_head=len(self._unacknowledged) == 1)
        return f"sends {len(batch.values)} in sequence"

    def _ask_for_id(self) -> str:
        if self._asking:
            return "waits for an id"
        self._asking = True

        def done(answer: Any) -> None:
            self._asking = False
            if answer is not None and not answer.error_code:
                self.history.gave_producer_id(answer.producer_id)
                self.producer_id = answer.producer_id

        self.open_link.send(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0), 4, done)
        return "asks for an id"

    def _send_again(self) -> str:
        if self._in_flight:
            return "waits for the rest"
        self._failed = False
        for number, batch in enumerate(tuple(self._unacknowledged)):
            self._send(batch, is_head=number == 0)
        return f"sends {len(self._unacknowledged)} batches again"

    def _send(self, batch: Batch, *, is_head: bool) -> None:
        self._in_flight += 1
        version = self.chance.randint(7, 13)
        target = self.target
        assert target is not None

        def done(answer: Any) -> None:
            self._in_flight -= 1
            if answer is None:
                self._failed = True
            elif self.target is target:
                self._answered(batch, answer.responses[0].partition_responses[0], is_head=is_head)

        self.open_link.send(self.request(batch, -1, version), version, done)

    def _answered(self, batch: Batch, partition: Any, *, is_head: bool) -> None:
        assert self.target is not None
        topic_id, _, index = self.target
        code = partition.error_code
        if not code:
            self.history.acknowledged(topic_id, index, partition.base_offset, batch.values)
            assert self._unacknowledged[0] is batch or self._failed, "acknowledged out of order"
            if batch in self._unacknowledged:
                self._unacknowledged.remove(batch)
        elif code in GONE:
            self._give_up()
        else:
            behind = code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not is_head
            assert behind or code == ErrorCode.KAFKA_STORAGE_ERROR, (self.name, is_head, partition)
            self._failed = True

    def _give_up(self) -> None:
        """Give up the topic, which was deleted, and begin with another one."""
        assert self.target is not None
        assert self.history.topics[self.target[0]].deletion_asked, (
            "a topic was deleted, but no client asked for it"
        )
        self._unacknowledged.clear()
        self._failed = False
        self.target = None
        self._sequence = 0

"""Transactional clients of the simulation, of both protocols: scripts of requests, each asked until answered.

A client may give up waiting. Then one of the second protocol leaves its connection open, so that what it has
sent arrives later, maybe in its next transaction; one of the first protocol, which has no defence against
that, closes it. A client may also end at any moment, and begin anew as a new instance.
"""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from typing import Any, ClassVar, Final
from uuid import UUID

from protocol.error_codes import ErrorCode as E
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.sim.clients import Link
from tests.sim.transactions_history import Attempt, History, Outcome, Place
from tests.sim.world import World

TV1, TV2 = 1, 2
GROUP: Final = "copiers"
INPUT: Final = "in"
OUTPUT: Final = "out"

Script = Generator[tuple[Any, int], Any, None]
"""Yields requests with their versions, and is sent the answers: None for one that was lost."""

Asking = Generator[tuple[Any, int], Any, Any]

RETRIED: Final = frozenset(
    {
        E.CONCURRENT_TRANSACTIONS,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.COORDINATOR_NOT_AVAILABLE,
        E.NOT_COORDINATOR,
        E.NOT_ENOUGH_REPLICAS,
        E.KAFKA_STORAGE_ERROR,
        E.UNSTABLE_OFFSET_COMMIT,
    }
)
"""The answers after which a client asks again."""

FATAL: Final = frozenset(
    {
        E.PRODUCER_FENCED,
        E.INVALID_PRODUCER_EPOCH,
        E.INVALID_PRODUCER_ID_MAPPING,
        E.INVALID_TXN_STATE,
        E.TRANSACTION_ABORTABLE,
        E.OUT_OF_ORDER_SEQUENCE_NUMBER,
    }
)
"""The answers after which it begins anew: it was replaced, or its transaction took too long."""


class BeginAnew(Exception):
    """The client cannot go on with its id and epoch."""


class TransactionalClient:
    """One client at work; `life` is its script."""

    GIVES_UP: ClassVar[float] = 0.04
    DIES: ClassVar[float] = 0.006

    def __init__(
        self, world: World, history: History, chance: Random, name: str, topics: dict[str, UUID], **how: Any
    ) -> None:
        self.world = world
        self.history = history
        self.chance = chance
        self.name = name
        self.topics = topics
        self.transactional_id: str = how.get("transactional_id", name)
        self.protocol: int = how.get("protocol", TV2)
        self.timeout_ms: int = how.get("timeout_ms", 10_000)
        self.is_undisturbed: bool = how.get("is_undisturbed", False)
        self.draining = self.ended = False
        self.transactions = 0
        self.producer_id = self.epoch = -1
        self.told: frozenset[E] = frozenset()
        """The codes after which it had to begin anew, the last time."""
        self._sequences: dict[Place, int] = {}
        self._link: Link | None = None
        self._script: Script = self.life()
        self._question: object | None = None
        self._answer: Any = None

    # --- one request after another ----------------------------------------------------------------------

    def step(self) -> str:
        """Do the next thing."""
        if self.ended:
            return "has ended"
        if not self.draining and not self.is_undisturbed and self.chance.random() < self.DIES:
            self.begin_anew()
            return "dies"
        if self._question is not None:
            if self.draining or self.chance.random() >= self.GIVES_UP:
                return "waits"
            self._leave_link()
        answer, self._answer = self._answer, None
        try:
            request, version = self._script.send(answer)
        except StopIteration:
            self.ended = True
            return "ends"
        self._send(request, version)
        return f"sends {type(request).__name__} v{version}"

    def begin_anew(self) -> None:
        """Forget everything, as a new process."""
        self._script.close()
        self._leave_link()
        self.producer_id = self.epoch = -1
        self._script, self._answer = self.life(), None

    def stop(self) -> None:
        """End for good."""
        self._script.close()
        self._leave_link()
        self.ended = True

    def _leave_link(self) -> None:
        link, self._link, self._question = self._link, None, None
        if link is not None and (self.protocol == TV1 or self.is_undisturbed):
            link.close()

    def _send(self, request: Any, version: int) -> None:
        if self._link is None or not self._link.is_open:
            self._link = Link(self.world)
        question = self._question = object()

        def done(answer: Any) -> None:
            if self._question is question:
                self._question, self._answer = None, answer

        self._link.send(request, version, done)

    def ask(self, request: Any, version: int) -> Asking:
        """Ask until there is an answer that is not to be retried; return it.  Raises: BeginAnew."""
        while True:
            answer = yield request, version
            if answer is None:
                continue
            codes = codes_of(answer)
            if not codes & RETRIED:
                self._judge(codes)
                return answer

    def _judge(self, codes: frozenset[E]) -> None:
        codes -= {E.NONE}
        if codes:
            self.told = codes
            assert codes <= FATAL, f"{self.name}: {codes}"
            assert not self.is_undisturbed, f"{self.name} is alone and in time, and told {codes}"
            self.history.counts["refused"] += 1
            raise BeginAnew

    # --- parts of scripts -------------------------------------------------------------------------------

    def life(self) -> Script:
        """Run transactions until the end."""
        while True:
            try:
                yield from self.init()
                while (yield from self.work()):
                    pass
            except BeginAnew:
                continue
            return

    def work(self) -> Asking:
        """Do one transaction; return whether there is more to do."""
        raise NotImplementedError

    def init(self) -> Asking:
        """Get an id and epoch; the instance before is fenced."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=self.timeout_ms
        )
        answer = yield from self.ask(request, self.chance.randint(2, 5))
        self.begin_epoch(answer.producer_id, answer.producer_epoch)

    def bump(self) -> Asking:
        """Raise the epoch, as Java clients of the first protocol do after an abort; a new instance may."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self.timeout_ms,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
        )
        while True:
            answer = yield request, 4
            codes = codes_of(answer) if answer is not None else frozenset()
            if codes == {E.NONE}:
                self.begin_epoch(answer.producer_id, answer.producer_epoch)
                return
            if codes & FATAL:
                # After a restart nothing tells a lost answer from a newer instance.
                raise BeginAnew

    def begin_epoch(self, producer_id: int, epoch: int) -> None:
        """Use an id and epoch; another one begins its sequences at 0."""
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch

    def begin(self) -> Attempt:
        """Begin a transaction, which the server is not told of."""
        self.transactions += 1
        return self.history.begin(f"{self.name}#{self.transactions}")

    def produce(self, attempt: Attempt, records: dict[int, list[bytes]], topic: str) -> Asking:
        """Write records to the partitions of a topic, and see that they are stored."""
        if self.protocol == TV1:
            yield from self.ask(self._adding(topic, list(records)), self.chance.randint(1, 3))
        left = {index: (values, self._batch((topic, index), values)) for index, values in records.items()}
        version = self.chance.choice((12, 13)) if self.protocol == TV2 else self.chance.randint(3, 11)
        while left:
            answer = yield self._producing(topic, {index: data for index, (_, data) in left.items()}, version)
            if answer is None:
                continue
            self._judge(codes_of(answer) - RETRIED)
            for found in answer.responses[0].partition_responses:
                if not found.error_code:
                    values, _ = left.pop(found.index)
                    attempt.values += [((topic, found.index), value) for value in values]

    def _adding(self, topic: str, indexes: list[int]) -> AddPartitionsToTxnRequest:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=indexes)],
        )

    def _batch(self, place: Place, values: list[bytes]) -> bytes:
        sequence = self._sequences.get(place, 0)
        self._sequences[place] = sequence + len(values)
        records = [Record(number, self.world.now_ms, b"k", value) for number, value in enumerate(values)]
        return bytes(
            encode_batch(
                records,
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
                base_sequence=sequence,
                transactional=True,
            )
        )

    def _producing(self, topic: str, batches: dict[int, bytes], version: int) -> tuple[Any, int]:
        data = [PartitionProduceData(index=index, records=batch) for index, batch in batches.items()]
        topic_data = TopicProduceData(partition_data=data)
        if version >= 13:
            topic_data.topic_id = self.topics[topic]
        else:
            topic_data.name = topic
        request = ProduceRequest(
            transactional_id=self.transactional_id, acks=-1, timeout_ms=1_000, topic_data=[topic_data]
        )
        return request, version

    def send_offset(self, attempt: Attempt, index: int, offset: int) -> Asking:
        """Make progress a part of the transaction."""
        identity: dict[str, Any] = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "group_id": GROUP,
        }
        if self.protocol == TV1:
            yield from self.ask(AddOffsetsToTxnRequest(**identity), self.chance.randint(1, 4))
        progress = TxnOffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_metadata=attempt.name
        )
        request = TxnOffsetCommitRequest(
            **identity, topics=[TxnOffsetCommitRequestTopic(name=INPUT, partitions=[progress])]
        )
        attempt.progress = index, offset
        yield from self.ask(request, 5 if self.protocol == TV2 else self.chance.randint(2, 4))

    def end(self, attempt: Attempt, *, commit: bool) -> Asking:
        """End the transaction; return when that is decided."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        if commit:
            self.history.ends(attempt, Outcome.COMMITTING)
        answer = yield from self.ask(request, 5 if self.protocol == TV2 else self.chance.randint(1, 4))
        self.history.ends(attempt, Outcome.COMMITTED if commit else Outcome.ABORTED)
        if answer.producer_id >= 0:
            self.begin_epoch(answer.producer_id, answer.producer_epoch)


def codes_of(answer: Any) -> frozenset[E]:
    """Return all codes of an answer."""
    if isinstance(answer, AddPartitionsToTxnResponse):
        results = [topic.results_by_partition for topic in answer.results_by_topic_v3_and_below]
        return frozenset(E(found.partition_error_code) for part in results for found in part)
    if isinstance(answer, ProduceResponse):
        return frozenset(
            E(part.error_code) for topic in answer.responses for part in topic.partition_responses
        )
    if isinstance(answer, TxnOffsetCommitResponse):
        return frozenset(E(part.error_code) for topic in answer.topics for part in topic.partitions)
    return frozenset({E(answer.error_code)})

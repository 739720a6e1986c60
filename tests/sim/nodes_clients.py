"""Clients of several nodes in the simulation: one of transactions over both, a reader that commits offsets.

Each has one request at a time.  One that gets no answer is given up, as after a time-out.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from groups.record_keys import partition_for
from protocol.error_codes import ErrorCode
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Client
from tests.broker.kit import fetched, fetching, outcomes
from tests.sim.nodes_net import COUNT
from tests.sim.nodes_process import NodeProcess

PATIENCE = 40
"""Looks after which a request is given up."""
INTERNAL_PARTITIONS = 2
GROUP, TRANSACTIONAL_ID = "g", "tx"

Find = Callable[[Random, str, int], NodeProcess | None]
"""Returns some process of the node that leads a partition; an older one may be among them."""


class Conversation:
    """A request that may be answered."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._client: Client | None = None
        self._patience = 0

    def is_waiting(self) -> bool:
        """Whether a request has no answer yet."""
        return self._client is not None

    def ask(self, random: Random, place: tuple[str, int], request: Any, version: int) -> None:
        """Send a request to a leader of a partition."""
        process = self._find(random, *place)
        if process is None:
            return
        self._client, self._patience = process.gateway.client(), PATIENCE
        self._client.send(request, version)

    def answer(self) -> Any | None:
        """Return the answer if it is there, or None; `is_waiting` is False after that, or at the end."""
        assert self._client is not None
        answers = self._client.answers()
        self._patience -= 1
        if answers or not self._patience:
            self._client = None
        return answers[0] if answers else None


class Writer:
    """Writes a record to each of two partitions, on different nodes, in each transaction."""

    def __init__(self, find: Find, places: list[tuple[str, int]]) -> None:
        self._talk = Conversation(find)
        self._places = places
        self._done: Callable[[Any | None], None] = self._initialized
        self._producer = (-1, -1)
        self._sequence = [0, 0]
        self._next = -1
        """The place of the next record; 2: the end of the transaction is next, -1: a new epoch."""
        self.number = 0
        self.committed: set[int] = set()
        """The transactions whose end was acknowledged."""

    @property
    def _coordinator(self) -> tuple[str, int]:
        return "__transaction_state", partition_for(TRANSACTIONAL_ID, INTERNAL_PARTITIONS)

    def step(self, random: Random) -> None:
        """Take the answer to the last request, or send the next one."""
        if self._talk.is_waiting():
            answer = self._talk.answer()
            if not self._talk.is_waiting():
                self._done(answer)
        elif self._next < 0:
            request: Any = InitProducerIdRequest(
                transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=60_000
            )
            self._done = self._initialized
            self._talk.ask(random, self._coordinator, request, 5)
        elif self._next < COUNT:
            self._done = self._written
            self._talk.ask(random, self._places[self._next], self._producing(), 12)
        else:
            producer_id, epoch = self._producer
            request = EndTxnRequest(
                transactional_id=TRANSACTIONAL_ID,
                producer_id=producer_id,
                producer_epoch=epoch,
                committed=True,
            )
            self._done = self._ended
            self._talk.ask(random, self._coordinator, request, 5)

    def _producing(self) -> ProduceRequest:
        name, index = self._places[self._next]
        batch = encode_batch(
            [Record(0, START_MS, None, b"tx%d" % self.number)],
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            base_sequence=self._sequence[self._next],
            transactional=True,
        )
        data = PartitionProduceData(index=index, records=bytes(batch))
        topic = TopicProduceData(name=name, partition_data=[data])
        return ProduceRequest(
            transactional_id=TRANSACTIONAL_ID, acks=-1, timeout_ms=1_000, topic_data=[topic]
        )

    def _begin(self, producer_id: int, epoch: int) -> None:
        self._producer, self._sequence, self._next = (producer_id, epoch), [0, 0], 0
        self.number += 1

    def _initialized(self, answer: Any | None) -> None:
        if answer is not None and answer.error_code == ErrorCode.NONE:
            self._begin(answer.producer_id, answer.producer_epoch)

    def _written(self, answer: Any | None) -> None:
        if answer is None or outcomes(answer)[0].error_code:
            self._next = -1
        else:
            self._sequence[self._next] += 1
            self._next += 1

    def _ended(self, answer: Any | None) -> None:
        if answer is None or answer.error_code:
            self._next = -1
            return
        self.committed.add(self.number)
        if answer.producer_id >= 0:
            self._begin(answer.producer_id, answer.producer_epoch)
        else:
            self._next = -1


class Reader:
    """Reads a partition of one node, and commits how far it got at the coordinator of its group."""

    def __init__(self, find: Find, place: tuple[str, int]) -> None:
        self._talk = Conversation(find)
        self.place = place
        self._read = 0
        self._commits = False
        """Whether the next request, or the one on its way, is a commit."""
        self.committed = 0
        """The largest offset whose commit was acknowledged."""

    def step(self, random: Random) -> None:
        """Take the answer to the last request, or send the next one."""
        if not self._talk.is_waiting():
            if self._commits:
                self._commit(random)
            else:
                self._talk.ask(random, self.place, fetching({self.place: 0}), 12)
            return
        answer = self._talk.answer()
        if answer is not None:
            self._take(answer)
        elif not self._talk.is_waiting():
            self._commits = False

    def _take(self, answer: Any) -> None:
        if not self._commits:
            self._read = max(self._read, fetched(answer)[self.place].high_watermark)
            self._commits = self._read > self.committed
            return
        self._commits = False
        if not answer.topics[0].partitions[0].error_code:
            self.committed = max(self.committed, self._read)

    def _commit(self, random: Random) -> None:
        part = OffsetCommitRequestPartition(
            partition_index=self.place[1], committed_offset=self._read, committed_metadata=""
        )
        topic = OffsetCommitRequestTopic(name=self.place[0], partitions=[part])
        request = OffsetCommitRequest(group_id=GROUP, topics=[topic], member_id="")
        home = "__consumer_offsets", partition_for(GROUP, INTERNAL_PARTITIONS)
        self._talk.ask(random, home, request, 8)

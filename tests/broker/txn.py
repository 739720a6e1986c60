"""A transactional producer without sockets, of the first or the second client protocol.

producer = Producer(gateway, "tx")
producer.write("t", 0, b"a")
producer.commit()
assert committed(client, "t") == [b"a"]
"""

from __future__ import annotations

from typing import Any

from protocol.error_codes import ErrorCode
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
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import iter_batches, read_batch_header
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import fetched, fetching, outcomes

TV1, TV2 = 1, 2


class Producer:
    """One instance; `producer_id` and `epoch` are those that it was given last."""

    def __init__(
        self, gateway: Gateway, name: str = "tx", *, protocol: int = TV2, timeout_ms: int = 60_000
    ) -> None:
        self.client: Client = gateway.client()
        self.name = name
        self.protocol = protocol
        self.timeout_ms = timeout_ms
        self.producer_id = self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}
        assert self.init().error_code == 0

    def init(self, **fields: int) -> Any:
        """Ask for an id and epoch, again as long as the transaction before is being ended."""
        request = InitProducerIdRequest(
            transactional_id=self.name, transaction_timeout_ms=self.timeout_ms, **fields
        )
        for _ in range(5):
            answer = self.client.call(request, 5)
            if answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                break
        if answer.error_code == 0:
            self._begin(answer.producer_id, answer.producer_epoch)
        return answer

    def _begin(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch

    def adding(self, *places: tuple[str, int]) -> AddPartitionsToTxnRequest:
        """Return a request to add partitions."""
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=name, partitions=[index]) for name, index in places
            ],
        )

    def add(self, *places: tuple[str, int], version: int = 3) -> list[int]:
        """Add partitions and return their codes."""
        answer = self.client.call(self.adding(*places), version)
        return [
            result.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for result in topic.results_by_partition
        ]

    def producing(self, *places: tuple[str, int], value: bytes) -> ProduceRequest:
        """Return a request with one batch of one record for each partition."""
        topics = []
        for name, index in places:
            sequence = self.sequences.get((name, index), 0)
            self.sequences[name, index] = sequence + 1
            batch = encode_batch(
                [Record(0, START_MS, b"k", value)],
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
                base_sequence=sequence,
                transactional=True,
            )
            data = PartitionProduceData(index=index, records=bytes(batch))
            topics.append(TopicProduceData(name=name, partition_data=[data]))
        return ProduceRequest(transactional_id=self.name, acks=-1, timeout_ms=1_000, topic_data=topics)

    @property
    def produce_version(self) -> int:
        return 12 if self.protocol == TV2 else 9

    def write(self, name: str, index: int, *values: bytes, version: int | None = None) -> int:
        """Write records to a partition, one batch each, and return the first error."""
        if self.protocol == TV1 and version is None:
            (code,) = self.add((name, index))
            if code:
                return code
        client = self.to_leader(name, index)
        for value in values:
            request = self.producing((name, index), value=value)
            (outcome,) = outcomes(client.call(request, version or self.produce_version))
            if outcome.error_code:
                self.sequences[name, index] -= 1
                return int(outcome.error_code)
        return 0

    def to_leader(self, name: str, index: int) -> Client:
        """Return a connection to the leader of a partition."""
        return self.client

    def to_coordinator(self, group_id: str) -> Client:
        """Return a connection to the coordinator of a group."""
        return self.client

    def ending(self, *, commit: bool) -> EndTxnRequest:
        """Return a request to end the transaction."""
        return EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )

    def end(self, *, commit: bool) -> int:
        """End the transaction and return the error."""
        answer = self.client.call(self.ending(commit=commit), 5 if self.protocol == TV2 else 4)
        if answer.error_code == 0 and answer.producer_id >= 0:
            self._begin(answer.producer_id, answer.producer_epoch)
        return int(answer.error_code)

    def commit(self) -> int:
        """Commit, and return the error."""
        return self.end(commit=True)

    def abort(self) -> int:
        """Abort, and return the error."""
        return self.end(commit=False)

    def adding_group(self, group_id: str = "g") -> AddOffsetsToTxnRequest:
        """Return a request to add a group."""
        return AddOffsetsToTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group_id,
        )

    def add_group(self, group_id: str = "g", version: int = 4) -> int:
        """Add a group to the transaction and return the error."""
        return int(self.client.call(self.adding_group(group_id), version).error_code)

    def committing(
        self, offset: int, *, group_id: str = "g", topic: str = "t", index: int = 0, **fields: Any
    ) -> TxnOffsetCommitRequest:
        """Return a request to commit an offset in the transaction."""
        progress = TxnOffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_metadata="m"
        )
        return TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[progress])],
            **fields,
        )

    def commit_offset(
        self,
        offset: int,
        *,
        group_id: str = "g",
        topic: str = "t",
        index: int = 0,
        version: int | None = None,
        **fields: Any,
    ) -> int:
        """Commit an offset in the transaction and return its error."""
        if self.protocol == TV1 and version is None:
            code = self.add_group(group_id)
            if code:
                return code
        request = self.committing(offset, group_id=group_id, topic=topic, index=index, **fields)
        answer = self.to_coordinator(group_id).call(request, version or (5 if self.protocol == TV2 else 4))
        return int(answer.topics[0].partitions[0].error_code)


def committed(client: Client, name: str, index: int = 0, offset: int = 0) -> list[bytes]:
    """Return what a consumer that reads committed data sees of a partition."""
    request = fetching({(name, index): offset}, isolation_level=1)
    data = fetched(client.call(request, 12))[name, index]
    assert data.error_code == 0, data
    aborted = sorted(
        ((found.first_offset, found.producer_id) for found in data.aborted_transactions), reverse=True
    )
    skipped: set[int] = set()
    found: list[bytes] = []
    for batch in iter_batches(data.records):
        header = read_batch_header(batch)
        while aborted and aborted[-1][0] <= header.base_offset:
            skipped.add(aborted.pop()[1])
        if header.is_control:
            skipped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipped):
            found += [record.value or b"" for record in iter_records(batch)]
    return found

"""The load of `kawal bench`: a topic of its own, written one by one, written in bulk, read back.

It measures the broker and not a client library: batches are made once and sent again and again, and those
that come back are counted by their headers and verified by their checksums.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from console.admin import ask, check
from console.client import refusal
from console.errors import CommandError
from console.link import Link
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import check_crc, iter_batches, read_batch_header

TIMEOUT_MS = 30_000
IN_FLIGHT = 5
"""Requests a producer keeps in flight, as Kafka's does."""

FETCH_BYTES = 4 << 20
LEADER_SECONDS = 30.0
"""The time in which a new topic's partitions must have leaders."""

PRODUCE_VERSION, FETCH_VERSION, METADATA_VERSION, TOPICS_VERSION, OFFSETS_VERSION = 9, 11, 9, 5, 4
LATEST = -1
NOT_YET = frozenset(
    {
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)
"""The answers of a broker about a partition that it is about to lead."""


@dataclass
class Tally:
    """The work done in one phase; threads add to it with the lock held."""

    records: int = 0
    size_bytes: int = 0
    seconds: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, records: int, size_bytes: int) -> None:
        """Add records and their bytes."""
        with self.lock:
            self.records += records
            self.size_bytes += size_bytes

    @property
    def mb_per_second(self) -> float:
        """Megabytes (10^6 bytes of batches) a second."""
        return self.size_bytes / 1e6 / self.seconds if self.seconds else 0.0

    @property
    def records_per_second(self) -> float:
        """Records a second."""
        return self.records / self.seconds if self.seconds else 0.0


def wall_ms() -> int:
    """Return the time of day, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def make_batch(count: int, record_bytes: int) -> bytes:
    """Return a batch of records whose values are `record_bytes` long."""
    now_ms = wall_ms()
    value = bytes(number * 7 % 251 for number in range(record_bytes))
    return bytes(encode_batch([Record(number, now_ms, None, value) for number in range(count)]))


@contextmanager
def own_topic(bootstrap: str, name: str, partitions: int) -> Iterator[dict[int, str]]:
    """Create a topic for the block; yield the address of each partition's leader.  Raises: CommandError."""
    topic = CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=-1, assignments=[], configs=[]
    )
    answer = ask(bootstrap, CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS), TOPICS_VERSION)
    check(answer.topics[0].error_code, answer.topics[0].error_message, f"topic {name!r}")
    try:
        yield _leaders(bootstrap, name, partitions)
    finally:
        gone = ask(
            bootstrap, DeleteTopicsRequest(topic_names=[name], timeout_ms=TIMEOUT_MS), TOPICS_VERSION
        ).responses[0]
        check(gone.error_code, gone.error_message, f"topic {name!r} was not deleted")


def _leaders(bootstrap: str, name: str, count: int) -> dict[int, str]:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    deadline = time.monotonic() + LEADER_SECONDS
    while time.monotonic() < deadline:
        answer = ask(bootstrap, request, METADATA_VERSION)
        addresses = {
            broker.node_id: f"[{broker.host}]:{broker.port}"
            if ":" in broker.host
            else f"{broker.host}:{broker.port}"
            for broker in answer.brokers
        }
        found = {
            partition.partition_index: addresses[partition.leader_id]
            for partition in answer.topics[0].partitions
            if partition.leader_id in addresses
        }
        if len(found) == count and all(_leads(name, index, address) for index, address in found.items()):
            return found
        time.sleep(0.1)
    raise CommandError(f"topic {name!r} has no leader for every partition after {LEADER_SECONDS:.0f} s")


def _leads(topic: str, partition: int, address: str) -> bool:
    """Return whether a broker knows already that it leads a partition; metadata may be ahead of it."""
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=LATEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])])
    with Link(address) as link:
        code: int = link.call(request, OFFSETS_VERSION).topics[0].partitions[0].error_code
    if code not in NOT_YET:
        check(code, None, f"{topic!r} partition {partition}")
    return code == 0


def _produce_request(topic: str, partition: int, batch: bytes) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=batch)
    return ProduceRequest(
        acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )


def _acknowledged(answer: Any) -> None:
    result = answer.responses[0].partition_responses[0]
    if result.error_code:
        raise CommandError(f"a produce was refused: {refusal(result.error_code, result.error_message)}")


def produce_one_by_one(topic: str, address: str, batch: bytes, *, seconds: float) -> list[float]:
    """Send batches to partition 0, each after the last one's answer; return the seconds each took, sorted.

    Raises: CommandError.
    """
    request = _produce_request(topic, 0, batch)
    taken: list[float] = []
    with Link(address) as link:
        ends = time.perf_counter() + seconds
        while (began := time.perf_counter()) < ends or not taken:
            _acknowledged(link.call(request, PRODUCE_VERSION))
            taken.append(time.perf_counter() - began)
    return sorted(taken)


def produce_in_bulk(
    topic: str, leaders: dict[int, str], batch: bytes, tally: Tally, *, seconds: float, bytes_max: int
) -> None:
    """Send batches to every partition at once, several in flight, and count those acknowledged.

    It ends when the time is up or `bytes_max` bytes were acknowledged.  Raises: CommandError.
    """
    count = read_batch_header(batch).record_count
    ends = time.perf_counter() + seconds

    def is_over() -> bool:
        return time.perf_counter() >= ends or tally.size_bytes >= bytes_max

    def work(partition: int, address: str) -> None:
        request = _produce_request(topic, partition, batch)
        with Link(address) as link:
            link.send(request, PRODUCE_VERSION)
            while link.in_flight:
                while link.in_flight < IN_FLIGHT and not is_over():
                    link.send(request, PRODUCE_VERSION)
                _acknowledged(link.receive())
                tally.add(count, len(batch))

    _timed(work, leaders, tally)


def consume_all(topic: str, leaders: dict[int, str], tally: Tally) -> None:
    """Read every partition from its first record to its last, and verify each batch's checksum.

    Raises: CommandError.
    """

    def work(partition: int, address: str) -> None:
        offset, end = 0, 1
        with Link(address) as link:
            while offset < end:
                data = _fetch(link, topic, partition, offset)
                end = data.high_watermark
                offset = _take(data.records or b"", offset, tally, f"{topic!r} partition {partition}")
                if not data.records and offset < end:
                    raise CommandError(
                        f"{topic!r} partition {partition} returns nothing from offset {offset} on"
                    )

    _timed(work, leaders, tally)


def _fetch(link: Link, topic: str, partition: int, offset: int) -> Any:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    request = FetchRequest(
        max_wait_ms=1_000,
        min_bytes=0,
        max_bytes=FETCH_BYTES,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )
    data = link.call(request, FETCH_VERSION).responses[0].partitions[0]
    check(data.error_code, None, f"{topic!r} partition {partition}, offset {offset}")
    return data


def _take(records: Any, offset: int, tally: Tally, what: str) -> int:
    """Count the batches; return the offset after them.  Raises: CommandError for one damaged or missing."""
    for batch in iter_batches(records):
        header = read_batch_header(batch)
        if header.base_offset != offset:
            raise CommandError(f"{what}: after offset {offset - 1} comes {header.base_offset}")
        if not check_crc(batch):
            raise CommandError(f"{what}: the batch at offset {offset} is damaged: its checksum is wrong")
        tally.add(header.record_count, len(batch))
        offset = header.last_offset + 1
    return offset


def _timed(work: Callable[[int, str], None], leaders: dict[int, str], tally: Tally) -> None:
    """Let a thread work on each partition; raise their first error when all have ended."""
    errors: list[CommandError] = []

    def guarded(partition: int, address: str) -> None:
        try:
            work(partition, address)
        except CommandError as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=item, daemon=True) for item in leaders.items()]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.1)
            tally.seconds = time.perf_counter() - began
    tally.seconds = time.perf_counter() - began
    if errors:
        raise errors[0]

"""Records read as whole batches from the leaders of a topic's partitions, for `kawal consume`.

A client library makes an object of every record on the way; here a batch is read into columns, which
takes a fifth of the time.  The next fetch is under way while the batches of the last one are printed.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from console import admin
from console.client import Trouble, refusal
from console.errors import CommandError
from console.link import Link, LinkLost
from console.outgoing import rules
from protocol.errors import ProtocolError
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.record_columns import RecordColumns, read_columns
from protocol.record_reader import iter_records, read_transaction_marker
from protocol.records import check_crc, iter_batches, read_batch_header

FETCH_VERSION, METADATA_VERSION, OFFSETS_VERSION = 12, 7, 5
FETCH_BYTES: Final = 16 << 20
PARTITION_BYTES: Final = 4 << 20
OUT_OF_RANGE: Final = 1
UNKNOWN_TOPIC: Final = 3
LEADER_MOVED: Final = frozenset((5, 6, 9, 56, 74, 75))
"""Codes after which the leader is asked for again: none, another, not yet, its disk, its epoch."""
EARLIEST: Final = -2
"""The timestamp that asks ListOffsets for the log start."""

Partition = Any
"""A topic and the number of its partition, as kafka-python's TopicPartition."""


Received = tuple[Partition, PartitionData, list[memoryview], int]


def connect(address: str) -> Link:
    """Connect to a broker as the command line does, or as the rules of the work say.  Raises: LinkLost."""
    over = rules()
    if over is None:
        return Link(address, "kawal-cli")
    link: Link = over.connect(address)
    return link


class Fetcher:
    """A reader of partitions from given offsets on, as far as `ends`; `poll` returns what has come.

    It has no group and commits nothing.  A connection that is lost is noted in `trouble` and made again.
    """

    def __init__(
        self,
        bootstrap: str,
        positions: Mapping[Partition, int],
        *,
        ends: Mapping[Partition, int] | None = None,
        read_committed: bool = False,
        trouble: Trouble | None = None,
        connect: Callable[[str], Link] = connect,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._bootstrap = bootstrap
        self._positions = dict(positions)
        self._ends = dict(ends or {})
        self._read_committed = read_committed
        self._trouble = trouble or Trouble()
        self._connect = connect
        self._wait = wait
        self._keys = {(partition.topic, partition.partition): partition for partition in positions}
        self._paused: set[Partition] = set()
        self._links: dict[str, Link] = {}
        self._leaders: dict[Partition, str] = {}

    def position(self, partition: Partition) -> int:
        """Return the offset that is read next."""
        return self._positions[partition]

    def pause(self, partition: Partition) -> None:
        """Read no more of a partition."""
        self._paused.add(partition)

    def close(self) -> None:
        """Close the connections."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    def poll(self, timeout_ms: int) -> dict[Partition, RecordColumns]:
        """Return the records that have come, waiting for the first of them for some time.

        Raises: CommandError for what asking again does not mend.
        """
        found: dict[Partition, RecordColumns] = {}
        for partition, (batches, start) in self.poll_batches(timeout_ms).items():
            if records := self._records(partition, batches, start):
                found[partition] = records
        return found

    def poll_batches(self, timeout_ms: int) -> dict[Partition, tuple[list[memoryview], int]]:
        """Return the batches of records that have come, and the offset from which on they were asked for:
        the first batch may begin before it.  Control batches and what was aborted are left out.

        Raises: CommandError for what asking again does not mend.
        """
        by_leader = self._by_leader()
        found: dict[Partition, tuple[list[memoryview], int]] = {}
        try:
            for address, partitions in by_leader.items():
                self._send(address, partitions, timeout_ms)
            for address in by_leader:
                for partition, data, batches, start in self._received(address, timeout_ms):
                    if visible := self._visible(partition, data, batches):
                        found[partition] = visible, start
        except LinkLost:
            self.close()
            self._leaders.clear()
            self._trouble.seen = True
        if self._trouble.seen and not found:
            self._wait(timeout_ms / 1000)
        return found

    def _active(self) -> list[Partition]:
        return [
            partition
            for partition, position in self._positions.items()
            if partition not in self._paused and position < self._ends.get(partition, position + 1)
        ]

    def _by_leader(self) -> dict[str, list[Partition]]:
        active = self._active()
        if any(partition not in self._leaders for partition in active):
            self._find_leaders({partition.topic for partition in active})
        found: dict[str, list[Partition]] = defaultdict(list)
        for partition in active:
            if partition in self._leaders:
                found[self._leaders[partition]].append(partition)
        return found

    def _find_leaders(self, topics: set[str]) -> None:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic) for topic in sorted(topics)],
            allow_auto_topic_creation=False,
        )
        try:
            answer = admin.ask(self._bootstrap, request, METADATA_VERSION)
        except CommandError:
            self._trouble.seen = True
            return
        self._leaders = {
            self._keys[place]: address for place, address in leaders_in(answer).items() if place in self._keys
        }

    def _send(self, address: str, partitions: list[Partition], timeout_ms: int) -> None:
        link = self._links.get(address)
        if link is None:
            link = self._links[address] = self._connect(address)
        if partitions and not link.in_flight:
            link.send(self._request(partitions, timeout_ms), FETCH_VERSION)

    def _request(self, partitions: list[Partition], timeout_ms: int) -> FetchRequest:
        topics: dict[str, list[FetchPartition]] = defaultdict(list)
        for partition in partitions:
            topics[partition.topic].append(
                FetchPartition(
                    partition=partition.partition,
                    fetch_offset=self._positions[partition],
                    partition_max_bytes=PARTITION_BYTES,
                )
            )
        return FetchRequest(
            max_wait_ms=timeout_ms,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            isolation_level=int(self._read_committed),
            topics=[FetchTopic(topic=topic, partitions=asked) for topic, asked in topics.items()],
        )

    def _received(self, address: str, timeout_ms: int) -> list[Received]:
        """Return what has come from a leader, where each began to read; the next request is sent by then."""
        link = self._links[address]
        if not link.in_flight:
            return []
        answer: FetchResponse = link.receive()
        admin.check(answer.error_code, None, f"fetching from {address}")
        found: list[Received] = []
        for topic in answer.responses:
            for data in topic.partitions:
                partition = self._keys[topic.topic, data.partition_index]
                if partition in self._paused:
                    continue
                start = self._positions[partition]
                found.append((partition, data, self._taken(partition, data), start))
        # What this leader has served comes last in the next request, so that all get their turn.
        served = {partition for partition, *_ in found}
        mine = [partition for partition in self._active() if self._leaders.get(partition) == address]
        self._send(address, sorted(mine, key=lambda partition: partition in served), timeout_ms)
        return found

    def _taken(self, partition: Partition, data: PartitionData) -> list[memoryview]:
        """Return the batches that came, and move the position beyond them.  Raises: CommandError."""
        if data.error_code == OUT_OF_RANGE:
            self._positions[partition] = self._start_of(partition)
        elif data.error_code in LEADER_MOVED:
            self._leaders.pop(partition, None)
        elif data.error_code:
            where = f"partition {partition.partition} of {partition.topic!r}"
            raise CommandError(f"{where}: {refusal(data.error_code, None)}")
        batches = [] if data.error_code or not data.records else list(iter_batches(data.records))  # type: ignore[arg-type]
        if batches:
            self._positions[partition] = read_batch_header(batches[-1]).last_offset + 1
        return batches

    def _start_of(self, partition: Partition) -> int:
        """Return the log start.  Raises: CommandError when the position is not below it."""
        asked = ListOffsetsPartition(partition_index=partition.partition, timestamp=EARLIEST)
        topics = [ListOffsetsTopic(name=partition.topic, partitions=[asked])]
        answer = admin.ask(
            self._leaders[partition], ListOffsetsRequest(replica_id=-1, topics=topics), OFFSETS_VERSION
        )
        start = int(answer.topics[0].partitions[0].offset)
        if start <= self._positions[partition]:
            raise CommandError(
                f"partition {partition.partition} of {partition.topic!r} no longer holds offset "
                f"{self._positions[partition]}: the topic was made anew, or its end was lost"
            )
        return start

    def _visible(
        self, partition: Partition, data: PartitionData, batches: list[memoryview]
    ) -> list[memoryview]:
        """Return the batches that a client sees: without markers and what was aborted."""
        aborted = sorted((known.first_offset, known.producer_id) for known in data.aborted_transactions or ())
        ended: set[int] = set()
        found: list[memoryview] = []
        try:
            for batch in batches:
                header = read_batch_header(batch)
                if not check_crc(batch):
                    raise CommandError(
                        f"partition {partition.partition} of {partition.topic!r}: the batch at offset "
                        f"{header.base_offset} is damaged: its CRC is not that of its content"
                    )
                while aborted and aborted[0][0] <= header.last_offset:
                    ended.add(aborted.pop(0)[1])
                if header.is_control:
                    _end_transaction(batch, header.producer_id, ended)
                elif not (header.is_transactional and header.producer_id in ended):
                    found.append(batch)
        except ProtocolError as error:
            raise _unreadable(partition, error) from error
        return found

    def _records(self, partition: Partition, batches: list[memoryview], start: int) -> RecordColumns:
        """Return the records of batches, from `start` on."""
        found = RecordColumns()
        try:
            for batch in batches:
                found.extend(read_columns(batch))
        except ProtocolError as error:
            raise _unreadable(partition, error) from error
        # A batch may begin before what was asked for.
        return found[bisect_left(found.offsets, start) :] if found and found.offsets[0] < start else found


def _unreadable(partition: Partition, error: ProtocolError) -> CommandError:
    return CommandError(f"partition {partition.partition} of {partition.topic!r} cannot be read: {error}")


def _end_transaction(batch: memoryview, producer_id: int, aborted: set[int]) -> None:
    """Let the records after an abort marker count again."""
    for record in iter_records(batch):
        marker = read_transaction_marker(record)
        if marker is not None and not marker.is_commit:
            aborted.discard(producer_id)


def leaders_in(answer: MetadataResponse) -> dict[tuple[str, int], str]:
    """Return the address of the leader of each partition that has one.

    Raises: CommandError for a topic that does not exist.
    """
    addresses = {
        broker.node_id: f"{f'[{broker.host}]' if ':' in broker.host else broker.host}:{broker.port}"
        for broker in answer.brokers
    }
    found: dict[tuple[str, int], str] = {}
    for topic in answer.topics:
        if topic.error_code == UNKNOWN_TOPIC:
            raise CommandError(f"topic {topic.name!r} does not exist any more")
        for partition in topic.partitions:
            if partition.leader_id in addresses:
                found[topic.name or "", partition.partition_index] = addresses[partition.leader_id]
    return found

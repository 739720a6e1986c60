"""Records sent as whole batches to the leaders of a topic's partitions, for `kawal produce`.

A client library keeps a promise for every record; here a batch has one answer, and five requests are under
way to each leader.  With acks=all the producer is idempotent: what is sent again is stored once.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import Final, NamedTuple

from console import admin
from console.batch_outcomes import TOO_LARGE, Outcome, outcomes_of
from console.errors import CommandError
from console.fetcher import connect, leaders_in
from console.link import Link, LinkLost
from console.record_formats import OutgoingColumns, OutgoingRecord
from protocol.column_writer import encode_columns
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.partitioner import partition_of
from protocol.record_columns import RecordColumns
from protocol.record_reader import Record

PRODUCE_VERSION, METADATA_VERSION, PRODUCER_ID_VERSION = 9, 7, 1
IN_FLIGHT_MAX: Final = 5
"""Requests under way to one leader: so many batches of a producer a broker remembers."""
BATCH_BYTES: Final = 256 << 10
BATCH_RECORDS: Final = 8_192
"""As many as have offset deltas of two bytes."""
BLOCK_BYTES_MAX: Final = 2 * BATCH_BYTES
"""The bytes of records that are taken together: a batch of a few more is not larger than brokers allow."""
ALL: Final = -1
"""acks=all."""
ANSWER_MS: Final = 30_000
RETRY_SECONDS: Final = 0.2
DELIVERY_SECONDS: Final = 30.0
"""The time for which a batch is sent again before it counts as not stored."""
TOPIC_SECONDS: Final = 15.0
"""The time in which a topic that is being created must have leaders."""

_SEQUENCES: Final = 2**31


def now_ms() -> int:
    """Return the time of day, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Shipment(NamedTuple):
    """A batch for one partition."""

    partition: int
    records: RecordColumns
    base_sequence: int


class BatchSender:
    """A producer of batches: `add` collects, `ship` sends what was collected, `finish` takes all answers."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        acks: int = ALL,
        codec: Codec = Codec.NONE,
        connect: Callable[[str], Link] = connect,
        wait: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = now_ms,
    ) -> None:
        self.stored_in: Counter[int] = Counter()
        """The number of records stored in each partition, as far as acks tells."""
        self._bootstrap = bootstrap
        self._topic = topic
        self._acks = acks
        self._codec = codec
        self._connect = connect
        self._wait = wait
        self._clock = clock
        self._now_ms = now_ms
        self._leaders: dict[int, str] = {}
        self._links: dict[str, Link] = {}
        self._sent: dict[str, deque[list[Shipment]]] = defaultdict(deque)
        self._pending: dict[int, RecordColumns] = defaultdict(RecordColumns)
        self._pending_bytes: Counter[int] = Counter()
        self._producer_id, self._sequences = -1, Counter[int]()
        self._sticky = 0

    def open(self) -> set[int]:
        """Find the topic, which the broker may create now; return its partitions.  Raises: CommandError."""
        deadline = self._clock() + TOPIC_SECONDS
        while not self._find_leaders():
            if self._clock() > deadline:
                raise CommandError(f"topic {self._topic!r} has no leaders after {TOPIC_SECONDS:.0f} s")
            self._wait(RETRY_SECONDS)
        if self._acks == ALL:
            self._producer_id = self._ask_producer_id(deadline)
        self._sticky = random.randrange(len(self._leaders))  # noqa: S311  (to spread load)
        return set(self._leaders)

    def _ask_producer_id(self, deadline: float) -> int:
        """Return an id of the broker's; one that has just started has none for a while.

        Raises: CommandError.
        """
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        while True:
            answer = admin.ask(self._bootstrap, request, PRODUCER_ID_VERSION)
            code = ErrorCode(answer.error_code)
            if not code.retriable or self._clock() > deadline:
                admin.check(code, None, "asking for a producer id")
                found: int = answer.producer_id
                return found
            self._wait(RETRY_SECONDS)

    def _find_leaders(self) -> bool:
        """Ask who leads; return whether all partitions have a leader.  Raises: CommandError."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=self._topic)], allow_auto_topic_creation=True
        )
        (topic,) = (answer := admin.ask(self._bootstrap, request, METADATA_VERSION)).topics
        code = ErrorCode(topic.error_code)
        if code and not code.retriable:
            raise CommandError(f"topic {self._topic!r}: {code.text}")
        found = {} if code else leaders_in(answer)
        self._leaders = {index: address for (_, index), address in found.items()}
        return bool(found) and len(found) == len(topic.partitions)

    def add(self, record: OutgoingRecord) -> None:
        """Take a record; a batch that is full is sent.  Raises: CommandError when an earlier one failed."""
        partition = self._partition_of(record)
        time_ms = self._now_ms() if record.timestamp_ms is None else record.timestamp_ms
        pending = self._pending[partition]
        pending.append(Record(len(pending), time_ms, record.key, record.value, tuple(record.headers)))
        self._added(partition, len(record.value or b"") + len(record.key or b""))

    def add_all(self, outgoing: OutgoingColumns) -> None:
        """Take records as `add` does, in a fraction of its time.  Raises: CommandError."""
        count = len(outgoing.values)
        if _size_of(outgoing.keys or []) + _size_of(outgoing.values) > BLOCK_BYTES_MAX:
            for record in outgoing.one_by_one():
                self.add(record)
            return
        for start in range(0, count, BATCH_RECORDS):
            for partition, columns in self._by_partition(outgoing.part(start, start + BATCH_RECORDS)).items():
                if len(self._pending[partition]) + len(columns) > BATCH_RECORDS:
                    self.ship()
                self._pending[partition].extend(columns)
                self._added(partition, _size_of(columns.keys) + _size_of(columns.values))

    def _by_partition(self, outgoing: OutgoingColumns) -> dict[int, RecordColumns]:
        """Return records by the partitions where they go."""
        values = outgoing.values
        keys = outgoing.keys or [None] * len(values)
        places = self._places(keys, outgoing.partitions)
        now_ms = self._now_ms()
        times = [now_ms if time is None else time for time in outgoing.times or [None] * len(values)]
        found: dict[int, RecordColumns] = defaultdict(RecordColumns)
        if places.count(places[0]) == len(places):
            only = found[places[0]]
            only.keys, only.values, only.timestamps = keys, values, times
        else:
            for place, key, value, time in zip(places, keys, values, times, strict=True):
                columns = found[place]
                columns.keys.append(key)
                columns.values.append(value)
                columns.timestamps.append(time)
        if outgoing.headers:
            for columns in found.values():
                columns.headers = [outgoing.headers] * len(columns)
        return found

    def _places(self, keys: list[bytes | None], partitions: list[int | None] | None) -> list[int]:
        """Return the partition of each record.  Raises: CommandError for one that is not there."""
        if partitions is None:
            by_key = {key: self._partition_for(key) for key in set(keys)}
            return [by_key[key] for key in keys]
        for partition in set(partitions) - {None}:
            self._checked(partition)  # type: ignore[arg-type]
        return [
            self._partition_for(key) if partition is None else partition
            for key, partition in zip(keys, partitions, strict=True)
        ]

    def _added(self, partition: int, size_bytes: int) -> None:
        self._pending_bytes[partition] += size_bytes
        if self._pending_bytes[partition] >= BATCH_BYTES or len(self._pending[partition]) >= BATCH_RECORDS:
            self.ship()

    def ship(self) -> None:
        """Send what was collected.  Raises: CommandError when an earlier batch was refused."""
        by_leader: dict[str, list[Shipment]] = defaultdict(list)
        for partition, records in self._pending.items():
            records.offsets = list(range(len(records)))
            base = self._sequences[partition]
            self._sequences[partition] = (base + len(records)) % _SEQUENCES
            by_leader[self._leaders[partition]].append(Shipment(partition, records, base))
        self._pending.clear()
        self._pending_bytes.clear()
        # Records without a key stay together in batches, and batches take turns.
        self._sticky = (self._sticky + 1) % len(self._leaders)
        for address, shipments in by_leader.items():
            try:
                while len(self._sent[address]) >= self._in_flight_max(shipments):
                    self._take_answer(address)
                self._send(address, shipments)
            except LinkLost:
                self._recover([*self._forgotten(address), *shipments])

    def _in_flight_max(self, shipments: list[Shipment]) -> int:
        """Return how many requests may be under way beside this one.

        A broker takes whichever batch of a producer comes first: the one that should have would be too late.
        """
        return IN_FLIGHT_MAX if all(self.stored_in[each.partition] for each in shipments) else 1

    def finish(self) -> None:
        """Wait until everything that was sent is answered.  Raises: CommandError when a batch was refused."""
        for address in list(self._sent):
            while self._sent[address]:
                try:
                    self._take_answer(address)
                except LinkLost:
                    self._recover(self._forgotten(address))

    def close(self) -> None:
        """Close the connections."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    def _partition_of(self, record: OutgoingRecord) -> int:
        if record.partition is not None:
            return self._checked(record.partition)
        return self._partition_for(record.key)

    def _checked(self, partition: int) -> int:
        """Return a partition that is there.  Raises: CommandError."""
        if partition not in self._leaders:
            there_are = f"{self._topic!r} has partitions 0 to {max(self._leaders)}"
            raise CommandError(f"{there_are}; there is no {partition}")
        return partition

    def _partition_for(self, key: bytes | None) -> int:
        return self._sticky if key is None else partition_of(key, len(self._leaders))

    def _send(self, address: str, shipments: list[Shipment]) -> None:
        link = self._links.get(address)
        if link is None:
            link = self._links[address] = self._connect(address)
        data = [
            PartitionProduceData(index=shipment.partition, records=self._encoded(shipment))
            for shipment in shipments
        ]
        request = ProduceRequest(
            acks=self._acks,
            timeout_ms=ANSWER_MS,
            topic_data=[TopicProduceData(name=self._topic, partition_data=data)],
        )
        link.send(request, PRODUCE_VERSION, answered=self._acks != 0)
        if self._acks:
            self._sent[address].append(shipments)
        else:
            self._count(shipments)

    def _encoded(self, shipment: Shipment) -> bytearray:
        idempotent = self._producer_id >= 0
        return encode_columns(
            shipment.records,
            codec=self._codec,
            producer_id=self._producer_id,
            producer_epoch=0 if idempotent else -1,
            base_sequence=shipment.base_sequence if idempotent else -1,
        )

    def _count(self, shipments: list[Shipment]) -> None:
        for shipment in shipments:
            self.stored_in[shipment.partition] += len(shipment.records)

    def _take_answer(self, address: str) -> None:
        """Take the oldest answer of a leader.  Raises: LinkLost; CommandError for what stays refused."""
        outcomes = outcomes_of(self._links[address].receive())
        shipments = self._sent[address].popleft()
        failed = [each for each in shipments if not outcomes[each.partition].is_stored]
        self._count([each for each in shipments if outcomes[each.partition].is_stored])
        for each in failed:
            self._check(each, outcomes[each.partition])
        if failed:
            self._recover(failed)

    def _check(self, shipment: Shipment, outcome: Outcome) -> None:
        """Raise CommandError for a batch that will never be stored."""
        if not outcome.is_retriable and not (outcome.code == TOO_LARGE and len(shipment.records) > 1):
            raise CommandError(f"a record was not stored in {self._topic!r}: {outcome.words}")

    def _rest(self, address: str) -> list[Shipment]:
        """Take the other answers of a leader; return what was not stored.  Raises: CommandError."""
        found: list[Shipment] = []
        try:
            while self._sent[address]:
                outcomes = outcomes_of(self._links[address].receive())
                shipments = self._sent[address].popleft()
                found += [each for each in shipments if not outcomes[each.partition].is_stored]
                self._count([each for each in shipments if outcomes[each.partition].is_stored])
        except LinkLost:
            found += self._forgotten(address)
        return found

    def _forgotten(self, address: str) -> list[Shipment]:
        """Close a connection that was lost; return what was sent on it and not answered."""
        if (link := self._links.pop(address, None)) is not None:
            link.close()
        return [each for shipments in self._sent.pop(address, ()) for each in shipments]

    def _recover(self, shipments: list[Shipment]) -> None:
        """Send batches again, one after the other in their order.  Raises: CommandError.

        What follows a batch that failed is refused for its sequence, and is sent again as well.
        """
        waiting = deque(shipments)
        for address in list(self._sent):
            waiting.extend(self._rest(address))
        deadline = self._clock() + DELIVERY_SECONDS
        while waiting:
            shipment = waiting.popleft()
            outcome = self._delivered(shipment)
            if outcome.is_stored:
                self._count([shipment])
                continue
            self._check(shipment, outcome)
            if outcome.code == TOO_LARGE:
                waiting.extendleft(reversed(_halves(shipment)))
                continue
            if self._clock() > deadline:
                raise CommandError(f"a record was not stored in {self._topic!r}: {outcome.words}")
            waiting.appendleft(shipment)
            self._wait(RETRY_SECONDS)

    def _delivered(self, shipment: Shipment) -> Outcome:
        """Send one batch to the leader of now and return what became of it."""
        address = ""
        try:
            self._find_leaders()
            address = self._leaders[shipment.partition]
            self._send(address, [shipment])
            if not self._acks:
                return Outcome(0, "")
            answer = self._links[address].receive()
            self._sent[address].pop()
            return outcomes_of(answer)[shipment.partition]
        except (LinkLost, KeyError) as error:
            self._forgotten(address)
            words = str(error) if isinstance(error, LinkLost) else "its partition has no leader"
            return Outcome(ErrorCode.NETWORK_EXCEPTION, words)


def _size_of(column: list[bytes | None]) -> int:
    return sum(map(len, filter(None, column)))


def _halves(shipment: Shipment) -> list[Shipment]:
    """Cut a batch that is too large for the topic in two."""
    middle = len(shipment.records) // 2
    tail = shipment.records[middle:]
    tail.offsets = list(range(len(tail)))
    return [
        Shipment(shipment.partition, shipment.records[:middle], shipment.base_sequence),
        Shipment(shipment.partition, tail, (shipment.base_sequence + middle) % _SEQUENCES),
    ]

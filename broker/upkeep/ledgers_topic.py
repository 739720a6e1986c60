"""The internal topic `__kawal_ledgers`: the ledgers of topics with kawal.message.ids, for any Kafka client.

It is compacted by `topic:partition:ledger`.  A ledger has a record when it begins, another one when it ends,
and a null when retention, a repair or the end of its topic has removed it; the value is a JSON object
(docs/messages.md).  It is off unless kawal.ledgers.topic asks for it, and no client may write it.

    start -> read what the topic says -> pass over all counted partitions, again and again
                                         changed ones -> a batch -> durable -> told

What was told is kept as a hash for each ledger, so a start writes only what has changed since.

Of several nodes the leader of the topic tells of all ledgers, those of other nodes' partitions as they have
answered (ledgers_elsewhere.py).
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from broker.catalogue.metadata import Metadata
from broker.catalogue.topic import LEDGERS_TOPIC, Topic
from broker.errors import RequestError
from broker.loop.loop import Loop
from broker.loop.slices import Until, WaitingSteps
from broker.storage.partition import Partition
from broker.storage.parts import joined_in_thread
from broker.storage.vnodes import Vnodes
from broker.upkeep.ledgers_elsewhere import LedgersElsewhere
from broker.upkeep.own_ledgers import counts, ledgers_here
from broker.upkeep.server_topic import ServerTopic
from protocol.record_reader import Record, iter_records
from protocol.records import iter_batches
from wal.disk import DiskError
from wal.errors import WalError
from wal.ledgers import Span

INTERVAL_MS: Final = 5_000
"""The time between two passes."""

STEP_MS: Final = 100
"""The time between two steps of a pass that has more to look at or to tell."""

PARTITIONS_PER_STEP: Final = 2_000
"""The partitions looked at in a step, at 1 µs."""

RECORDS_PER_BATCH: Final = 300
"""The ledgers told in a step, at 10 µs."""

CHUNK_BYTES: Final = 64 << 10
"""The bytes of the topic that are read at once at a start: 600 records, in 3 ms."""


class Place(NamedTuple):
    """A partition, by the name of its topic."""

    topic: str
    partition: int


class Row(NamedTuple):
    """A ledger as it is told."""

    topic_id: str
    span: Span


class Change(NamedTuple):
    """A record that is due."""

    place: Place
    ledger_id: int
    row: Row | None
    """None where the ledger is there no more."""


class Told:
    """The record of what was told of one partition."""

    __slots__ = ("changes", "sums", "topic_id")

    def __init__(self) -> None:
        self.topic_id = ""
        """That of the newest record."""
        self.changes = 0
        """The number of the ledgers' state that was told in full; 0 for none."""
        self.sums: dict[int, int] = {}
        """By ledger, the hash of its last row."""


class LedgersTopic:
    """Tells of the ledgers for as long as the broker lives."""

    def __init__(self, metadata: Metadata, loop: Loop, vnodes: Vnodes) -> None:
        self._metadata = metadata
        self._loop = loop
        self._vnodes = vnodes
        self._topic = ServerTopic(metadata, loop, LEDGERS_TOPIC)
        self._elsewhere = LedgersElsewhere(metadata, loop)
        self._told: dict[Place, Told] = {}
        self._read_to: int | None = 0
        """The offset up to which the topic was read after the start; None when all of it was."""
        self._is_reading = False
        self._pass: Iterator[Change | None] | None = None
        self._schedule(loop.clock.turn_ms, INTERVAL_MS)

    def _schedule(self, now_ms: int, after_ms: int) -> None:
        self._loop.timers.add(now_ms + after_ms, self._look)

    def _look(self, now_ms: int) -> None:
        wait_ms = INTERVAL_MS
        try:
            if not (self._loop.stopping or self._topic.is_busy or self._is_reading):
                wait_ms = self._step(now_ms)
        except (RequestError, WalError, DiskError):
            self._pass = None  # the log is damaged or full, which others report: it is tried again
        finally:
            self._schedule(now_ms, wait_ms)

    def _step(self, now_ms: int) -> int:
        """Do what is due; return the time until the next step."""
        partition = self._topic.partition
        if partition is None:
            if self._topic.topic is None:
                self._topic.create(now_ms)
            # Of several nodes another one may lead it, and tell of all.
            return STEP_MS if self._metadata.nodes.count == 1 else INTERVAL_MS
        if self._read_to is not None:
            self._is_reading = True
            self._loop.scheduler.add_work(self._learn(partition, self._read_to))
            return STEP_MS
        if self._pass is None:
            self._elsewhere.ask()
            self._pass = self._changes()
        return self._tell(self._pass, partition, now_ms)

    # --- what was told before the start ---------------------------------------------------------------------

    def _learn(self, partition: Partition, offset: int) -> WaitingSteps:
        """Read the topic from an offset on; after an error, the next step goes on."""
        try:
            offset = max(offset, partition.log_start)
            while offset < partition.counted_end:
                offset = yield from self._learn_some(partition, offset)
                self._read_to = offset
                yield None
            self._read_to = None
        except (WalError, DiskError):
            return
        finally:
            self._is_reading = False

    def _learn_some(self, partition: Partition, offset: int) -> Generator[Until | None, None, int]:
        read = partition.read(offset, CHUNK_BYTES)
        data = yield from joined_in_thread(read.parts, self._loop.scheduler.offload)
        for batch in iter_batches(data):
            for record in iter_records(batch):
                if (change := _change_in(record)) is not None:
                    self._note(change)
        return read.next_offset if data else partition.counted_end

    def _note(self, change: Change) -> None:
        """Learn that a record is durable."""
        told = self._told.setdefault(change.place, Told())
        if change.row is not None:
            told.topic_id = change.row.topic_id
            told.sums[change.ledger_id] = hash(change.row)
            return
        told.sums.pop(change.ledger_id, None)
        if not told.sums:
            del self._told[change.place]

    # --- telling ----------------------------------------------------------------------------------------

    def _tell(self, changes: Iterator[Change | None], partition: Partition, now_ms: int) -> int:
        """Append the next changes of the pass; return the time until the next step."""
        telling: list[Change] = []
        looked_at = 0
        for looked_at, change in enumerate(islice(changes, PARTITIONS_PER_STEP), start=1):  # noqa: B007
            if change is not None:
                telling.append(change)
                if len(telling) == RECORDS_PER_BATCH:
                    break
        if telling:
            wall_ms = self._loop.clock.wall_ms(now_ms)
            records = [
                Record(offset, wall_ms, _key(change), _value(change)) for offset, change in enumerate(telling)
            ]
            self._topic.append(partition, records, partial(self._appended, telling), now_ms)
        elif looked_at < PARTITIONS_PER_STEP:
            self._pass = None
            return INTERVAL_MS
        return STEP_MS

    def _appended(self, telling: list[Change], is_durable: bool) -> None:
        """Learn that a batch is durable, or was lost: then the next pass makes it again."""
        if is_durable:
            for change in telling:
                self._note(change)
        else:
            self._pass = None

    def _changes(self) -> Iterator[Change | None]:
        """Yield what is to be told, and None wherever that is nothing.

        Steps lie between two items, in which anything may change; what has, the next pass finds.
        """
        topics = {topic.name: topic for topic in self._metadata.catalogue.by_name.values() if counts(topic)}
        for place in list(self._told):
            topic = topics.get(place.topic)
            if topic is None or place.partition >= topic.partition_count:
                yield from self._removals(place, set())
            yield None
        for topic in topics.values():
            for index in range(topic.partition_count):
                yield from self._changes_of(topic, index)
                yield None

    def _changes_of(self, topic: Topic, index: int) -> Iterator[Change | None]:
        place = Place(topic.name, index)
        told = self._told.get(place)
        if self._vnodes.here(topic.database, topic.vnode_index(index)) is None:
            state = self._elsewhere.state(topic, index)
            if state is not None:
                yield from self._changes_since(place, topic, state.changes, state.spans)
            elif told is not None and told.topic_id != str(topic.topic_id):
                yield from self._removals(place, set())  # another topic had its name
            return
        ledgers = ledgers_here(self._vnodes, topic, index)
        if ledgers is None:
            yield from self._removals(place, set())  # as above
        elif told is None or told.changes != ledgers.changes:
            yield from self._changes_since(place, topic, ledgers.changes, ledgers.spans())

    def _changes_since(
        self, place: Place, topic: Topic, state: int, spans: Iterable[Span]
    ) -> Iterator[Change | None]:
        """Yield what is not told yet of a partition, whose state has this number."""
        told = self._told.get(place)
        sums = told.sums if told is not None else {}
        there: set[int] = set()
        is_told = True
        for span in spans:
            there.add(span.ledger_id)
            row = Row(str(topic.topic_id), span)
            is_due = sums.get(span.ledger_id) != hash(row)
            is_told = is_told and not is_due
            yield Change(place, span.ledger_id, row) if is_due else None
        for change in self._removals(place, there):
            is_told = False
            yield change
        if is_told:
            if told is not None:
                told.changes = state
            self._elsewhere.told(topic, place.partition, state)

    def _removals(self, place: Place, there: set[int]) -> Iterator[Change]:
        """Yield an end for each ledger that was told and is not among these."""
        told = self._told.get(place)
        for ledger_id in list(told.sums) if told is not None else ():
            if ledger_id not in there:
                yield Change(place, ledger_id, None)


def _key(change: Change) -> bytes:
    return f"{change.place.topic}:{change.place.partition}:{change.ledger_id}".encode()


def _value(change: Change) -> bytes | None:
    if change.row is None:
        return None
    topic_id, span = change.row
    return json.dumps(
        {
            "topic": change.place.topic,
            "topic_id": topic_id,
            "partition": change.place.partition,
            "ledger": span.ledger_id,
            "first_offset": span.first_offset,
            "end_offset": span.end_offset,
            "entries": span.entries,
            "bytes": span.size_bytes,
            "began_ms": span.begun_ms,
        }
    ).encode()


_SPAN_FIELDS: Final = ("ledger", "first_offset", "end_offset", "entries", "bytes", "began_ms")


def _change_in(record: Record) -> Change | None:
    """Return what a record of the topic tells; None of one that the server did not write."""
    try:
        name, index, ledger = bytes(record.key or b"").decode().split(":")
        place, ledger_id = Place(name, int(index)), int(ledger)
        if record.value is None:
            return Change(place, ledger_id, None)
        found = json.loads(bytes(record.value))
        return Change(
            place, ledger_id, Row(found["topic_id"], Span._make(found[field] for field in _SPAN_FIELDS))
        )
    except (ValueError, KeyError, TypeError):
        return None

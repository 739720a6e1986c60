"""The checker of the simulation: what clients were told, and what must therefore be true for ever.

L1   what was acknowledged can be read, unchanged, after every crash that its durability covers
L2   an offset holds one value for ever
L3   log start <= stable offset <= high watermark <= log end; log start and high watermark never go back
L4   nothing is read that was never sent, or that was refused
L5   no value is stored twice, however often it was sent again
L6   the records of one producer stand in the order in which it sent them
L8   what is read is contiguous
"""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from broker.catalogue.topics import Topic
from broker.storage.partition import Partition

Place = tuple[UUID, int, int]
"""Topic id, partition, offset."""


SHORT_LIVED = "-short"
"""The end of the names of topics whose records retention may delete."""

VIEW = "view-"
"""The beginning of the names of views, whose records are those of other topics."""


@dataclass(slots=True)
class PartitionFacts:
    """The facts known about one partition of one topic id."""

    values: dict[int, bytes] = field(default_factory=dict)
    acknowledged: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Marks:
    """The furthest that a partition's marks have been."""

    log_start: int = 0
    high_watermark: int = 0


@dataclass(slots=True)
class TopicFacts:
    """The facts known about one topic id."""

    name: str
    partition_count: int = 0
    deletion_asked: bool = False
    deletion_done: bool = False
    partitions: dict[int, PartitionFacts] = field(default_factory=dict)

    def partition(self, index: int) -> PartitionFacts:
        """Return the facts of one partition."""
        return self.partitions.setdefault(index, PartitionFacts())


class History:
    """All promises made so far."""

    def __init__(self) -> None:
        self.topics: dict[UUID, TopicFacts] = {}
        self.marks: dict[tuple[UUID, int], Marks] = {}
        self.producer_ids: set[int] = set()
        self.sent: set[bytes] = set()
        self.refused: set[bytes] = set()
        # Refused while a log had failed: until it is verified, the end of the process may bring them back.
        self.in_doubt: set[bytes] = set()
        self.places: dict[bytes, Place] = {}

    def logs_are_sound(self) -> None:
        """Record that no log has failed: what was refused so far never comes back."""
        self.refused |= self.in_doubt
        self.in_doubt.clear()

    def saw_topic(self, topic_id: UUID, name: str, partition_count: int) -> None:
        """Record that a client was told of a topic with at least this many partitions."""
        facts = self.topics.setdefault(topic_id, TopicFacts(name))
        facts.partition_count = max(facts.partition_count, partition_count)

    def marks_of(self, topic_id: UUID, index: int) -> Marks:
        """Return the furthest that a partition's marks have been."""
        return self.marks.setdefault((topic_id, index), Marks())

    def live_topics(self) -> list[tuple[UUID, TopicFacts]]:
        """Return the topics that no client has asked to delete."""
        return [(key, facts) for key, facts in self.topics.items() if not facts.deletion_asked]

    def gave_producer_id(self, producer_id: int) -> None:
        """Record that a producer got this id."""
        assert producer_id not in self.producer_ids, f"producer id {producer_id} was given out twice"
        self.producer_ids.add(producer_id)

    def acknowledged(self, topic_id: UUID, index: int, base_offset: int, values: list[bytes]) -> None:
        """Record that a producer was told where its records are."""
        assert base_offset >= 0, f"acknowledged at offset {base_offset}"
        for offset, value in enumerate(values, start=base_offset):
            self._place(topic_id, index, offset, value)
            self.topics[topic_id].partition(index).acknowledged.add(offset)

    def seen(self, topic_id: UUID, index: int, offset: int, value: bytes) -> None:
        """Record that a consumer has read a record."""
        assert value in self.sent, f"{value!r} was read and never sent (L4)"
        assert value not in self.refused, f"{value!r} was read although it had been refused (L4)"
        self._place(topic_id, index, offset, value)

    def _place(self, topic_id: UUID, index: int, offset: int, value: bytes) -> None:
        values = self.topics[topic_id].partition(index).values
        known = values.setdefault(offset, value)
        assert known == value, f"offset {offset} of {index} held {known!r} and holds {value!r} (L2)"
        place = self.places.setdefault(value, (topic_id, index, offset))
        assert place == (topic_id, index, offset), f"{value!r} is at {place} and at {index}/{offset} (L5)"

    def sample(self, topic: Topic, partition: Partition) -> None:
        """Compare a partition's marks with what they were."""
        before = self.marks_of(topic.topic_id, partition.index)
        log_start, high_watermark = partition.log_start, partition.high_watermark
        log_end = partition.vnode.log.next_offset(partition.stream_id)
        where = f"{topic.name}-{partition.index}"
        marks = [log_start, partition.last_stable_offset, high_watermark, log_end]
        assert sorted(marks) == marks, f"{where}: marks {marks} are out of order (L3)"
        assert before.log_start <= log_start, f"{where}: log start {before.log_start} -> {log_start} (L3)"
        assert before.high_watermark <= high_watermark, (
            f"{where}: high watermark {before.high_watermark} -> {high_watermark} (L3)"
        )
        before.log_start, before.high_watermark = log_start, high_watermark

    def check_catalogue(self, counts: dict[UUID, int]) -> None:
        """Compare the topics there are, with their partition counts, with what was promised."""
        for topic_id, facts in self.topics.items():
            if facts.deletion_done:
                assert topic_id not in counts, f"topic {facts.name} is back after its deletion"
            elif not facts.deletion_asked:
                assert topic_id in counts, f"topic {facts.name} is lost"
            if topic_id in counts:
                assert counts[topic_id] >= facts.partition_count, f"topic {facts.name} has shrunk"

    def check_partition(self, topic_id: UUID, index: int, records: dict[int, bytes]) -> None:
        """Compare all that can be read of a partition at the end with what was promised."""
        facts = self.topics[topic_id]
        known = facts.partition(index)
        marks = self.marks_of(topic_id, index)
        where = f"{facts.name}-{index}"
        expected = list(range(marks.log_start, marks.high_watermark))
        assert sorted(records) == expected, f"{where}: {sorted(records)} for {expected} (L8)"
        if marks.log_start:
            assert facts.name.endswith(SHORT_LIVED), f"{where}: records vanished from its beginning (L1)"
        for offset, value in records.items():
            self.seen(topic_id, index, offset, value)
        for offset in known.acknowledged:
            assert offset in records or offset < marks.log_start, f"{where}: offset {offset} is lost (L1)"
        last: dict[bytes, int] = {}
        for offset in expected:
            producer, number = records[offset].split(b":")
            assert last.get(producer, -1) < int(number), f"{where}: {records[offset]!r} stands too late (L6)"
            last[producer] = int(number)

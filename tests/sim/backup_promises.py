"""The promises of a backup about records and topics.

B1   what was acknowledged before it began is in it, unless its topic was deleted or retention was due
B2   what is in it was sent, and stands where it was acknowledged
B3   a record is in it only with all records that were acknowledged before it was sent, on any vnode
B4   offsets are contiguous
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from broker.core import Broker
from protocol.record_reader import iter_records
from protocol.records import iter_batches
from tests.sim.history import SHORT_LIVED, History
from wal.segment import FileRange

READ_BYTES = 1 << 20

Records = dict[tuple[UUID, int], dict[int, bytes]]
"""Values by topic id and partition, and by offset."""


class OrderedHistory(History):
    """A history that also knows the order in which values were sent and acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.moment = 0
        self.sent_at: dict[bytes, int] = {}
        self.acked_at: dict[bytes, int] = {}
        self.sent = _Sent(self)

    def next_moment(self) -> int:
        """Return a number above all earlier ones."""
        self.moment += 1
        return self.moment

    def acknowledged(self, topic_id: UUID, index: int, base_offset: int, values: list[bytes]) -> None:
        """Record the moment, too."""
        super().acknowledged(topic_id, index, base_offset, values)
        for value in values:
            self.acked_at.setdefault(value, self.next_moment())


class _Sent(set[bytes]):
    """The values sent, which tells the history when."""

    def __init__(self, history: OrderedHistory) -> None:
        super().__init__()
        self._history = history

    def update(self, *groups: Iterable[bytes]) -> None:
        super().update(*groups)
        for group in groups:
            for value in group:
                self._history.sent_at.setdefault(value, self._history.next_moment())


class RecordsPromise:
    """The records and topics that a backup that begins now must have."""

    def __init__(self, history: OrderedHistory) -> None:
        self.history = history
        self._topics = {
            key: facts.partition_count for key, facts in history.topics.items() if not facts.deletion_asked
        }
        self._acknowledged: Records = {}
        for key in self._topics:
            for index, partition in history.topics[key].partitions.items():
                self._acknowledged[key, index] = {
                    offset: partition.values[offset] for offset in partition.acknowledged
                }

    def check(self, broker: Broker) -> None:
        """Compare a broker that was started from the backup with the promise."""
        found = records_of(broker)
        self._check_topics(broker, found)
        self._check_order(broker, {value for records in found.values() for value in records.values()})

    def _check_topics(self, broker: Broker, found: Records) -> None:
        for key, count in self._topics.items():
            facts = self.history.topics[key]
            topic = broker.catalogue.by_id.get(key)
            if facts.deletion_asked and topic is None:
                continue
            assert topic is not None, f"topic {facts.name} is not in the backup (B1)"
            assert topic.partition_count >= count, f"topic {facts.name} has shrunk (B1)"
        for (key, index), values in self._acknowledged.items():
            topic = broker.catalogue.by_id.get(key)
            if topic is None:
                continue
            start = broker.topics.partition(topic, index).log_start
            assert not start or topic.name.endswith(SHORT_LIVED), f"{topic.name}-{index} begins at {start}"
            for offset, value in values.items():
                if offset >= start:
                    there = found[key, index].get(offset)
                    assert there == value, f"{topic.name}-{index}/{offset}: {there!r} for {value!r} (B1)"
        for records in found.values():
            assert self.history.sent.issuperset(records.values()), "what was never sent (B2)"

    def _check_order(self, broker: Broker, present: set[bytes]) -> None:
        """Find a record that is missing although a later one, which could know of it, is there."""
        newest = max((self.history.sent_at[value] for value in present), default=0)
        for value, moment in self.history.acked_at.items():
            if moment >= newest or value in present:
                continue
            key, index, offset = self.history.places[value]
            topic = broker.catalogue.by_id.get(key)
            if topic is not None:
                start = broker.topics.partition(topic, index).log_start
                assert offset < start, f"{value!r} is missing, though later ones are there (B3)"


def records_of(broker: Broker) -> Records:
    """Return all records of all partitions by offset."""
    found: Records = {}
    for topic in broker.catalogue.by_name.values():
        if topic.view is not None:
            continue
        for index in range(topic.partition_count):
            partition = broker.topics.partition(topic, index)
            records = found[topic.topic_id, index] = {}
            offset = partition.log_start
            while offset < partition.high_watermark:
                parts = partition.read(offset, READ_BYTES).parts
                data = b"".join(part.read() if isinstance(part, FileRange) else part for part in parts)
                for record in (item for batch in iter_batches(data) for item in iter_records(batch)):
                    if record.offset >= offset:
                        assert record.value is not None
                        records[record.offset] = record.value
                assert records, f"{topic.name}-{index} cannot be read from {offset} on (B4)"
                assert max(records) + 1 > offset, f"{topic.name}-{index} stands still at {offset} (B4)"
                offset = max(records) + 1
            expected = list(range(partition.log_start, partition.high_watermark))
            assert sorted(records) == expected, f"{topic.name}-{index}: {sorted(records)} (B4)"
    return found

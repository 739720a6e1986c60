"""Twins of kafka-python's clients that keep topics in memory, for the client commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kafka.structs import TopicPartition

from protocol.record_reader import Record as LogRecord


@dataclass
class Record:
    """A record as a consumer delivers it."""

    topic: str
    partition: int
    offset: int
    value: bytes | None
    key: bytes | None = None
    headers: list[tuple[str, bytes | None]] = field(default_factory=list)
    timestamp: int = 1000


class Consumer:
    """A consumer that delivers the records of one topic, partition by partition, in one poll each."""

    def __init__(self, *values: list[bytes]) -> None:
        self.options: dict[str, Any] = {}
        self.read_committed = False
        self._records = {
            TopicPartition("t", number): [
                Record("t", number, offset, value) for offset, value in enumerate(partition)
            ]
            for number, partition in enumerate(values)
        }
        self._positions: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()

    def topics(self) -> set[str]:
        return {"t", "trips"}

    def partitions_for_topic(self, topic: str) -> set[int]:
        if " " in topic:
            raise ValueError(f"topic name {topic!r} is illegal")
        return {record.partition for record in self._records if record.topic == topic}

    def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: len(self._records[partition]) for partition in partitions}

    def fetcher(
        self,
        bootstrap: str,
        positions: dict[TopicPartition, int],
        *,
        ends: dict[TopicPartition, int] | None,
        read_committed: bool,
        trouble: object,
    ) -> Consumer:
        """Stand in for the class that reads batches."""
        self.read_committed = read_committed
        self._positions = dict(positions)
        self._paused.clear()
        return self

    def close(self) -> None: ...

    def pause(self, partition: TopicPartition) -> None:
        self._paused.add(partition)

    def position(self, partition: TopicPartition) -> int:
        return self._positions[partition]

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[LogRecord]]:
        for partition, position in self._positions.items():
            records = self._records[partition][position:]
            if records and partition not in self._paused:
                self._positions[partition] = len(self._records[partition])
                return {
                    partition: [
                        LogRecord(each.offset, each.timestamp, each.key, each.value) for each in records
                    ]
                }
        return {}

    @contextmanager
    def session(self, bootstrap: str, **options: Any) -> Iterator[Consumer]:
        self.options = {"bootstrap": bootstrap, **options}
        yield self

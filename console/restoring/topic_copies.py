"""The topics of a restored database: made, changed and filled as the changes and records come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from broker.catalogue.databases import DEFAULT_DATABASE
from console import admin
from console.client import refusal
from console.errors import CommandError
from console.restoring.equality import ORIGIN, is_restored
from console.restoring.offset_map import OffsetMap
from console.sql.session import Session
from console.sql.topic_requests import checked, create_topic, delete_topic
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_reader import Headers, Record
from protocol.record_writer import encode_batch

BATCH_RECORDS: Final = 1_000
BATCH_BYTES: Final = 256 << 10
"""What is gathered before it is written; a single record may be larger."""

WAIT_MS: Final = 30_000
TOPIC: Final = 2
OWN: Final = 1
"""The source of a configuration that was set for the topic itself."""

SET, DELETE = 0, 1
DATABASE_KEY: Final = "kawal.database"
SPLIT_MODE_KEY: Final = "kawal.partition.autosplit.mode"
QUARANTINE_KEY: Final = "kawal.quarantine"
DERIVED: Final = frozenset({"kawal.durability", "kawal.source", "kawal.schema"})
"""Configurations that follow from others."""


def own_configs(session: Session, topic: str) -> dict[str, str]:
    """Return what was set for a topic itself.  Raises: CommandError."""
    asked = DescribeConfigsResource(resource_type=TOPIC, resource_name=topic, configuration_keys=None)
    answer = session.ask(DescribeConfigsRequest(resources=[asked]), 4).results[0]
    admin.check(answer.error_code, answer.error_message, f"topic {topic!r}")
    return {
        line.name: line.value or ""
        for line in answer.configs
        if line.config_source == OWN and line.name not in DERIVED
    }


class _Pending:
    """The records of one partition that are still to be written."""

    __slots__ = ("records", "size_bytes")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.size_bytes = 0


class TopicCopies:
    """The topics of one database on the server that it is restored to."""

    def __init__(self, target: Session, database: str, *, prefix: str, origin: bytes) -> None:
        """Begin without topics.

        Names get the prefix; records get the origin in their header `kawal.origin`, unless they have one.
        """
        self._target = target
        self._database = database
        self._prefix = prefix
        self._origin = origin
        # The partitions of the topics that have been made, by the names that they had.
        self.partitions: dict[str, int] = {}
        self._pending: dict[tuple[str, int], _Pending] = {}
        self.offsets: dict[tuple[str, int], OffsetMap] = {}
        self.records = 0

    def name_of(self, topic: str) -> str:
        """Return the name that a topic has in the copy."""
        return self._prefix + topic

    # --- topics ----------------------------------------------------------------------------------------

    def make(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        """Create a topic.  Raises: CommandError, also if there is one of that name."""
        name = self.name_of(topic)
        answer = create_topic(self._target, name, self._placed(configs), partitions=partitions)
        checked(answer, name)
        self.partitions[topic] = partitions

    def _placed(self, configs: Mapping[str, str]) -> dict[str, str]:
        """Return configurations as the copy has them.

        The copy of a topic whose partitions split has the same partitions, which no longer split: the records
        go where they were, and not where the tree of another topic would put their keys.
        """
        left_out = {DATABASE_KEY, SPLIT_MODE_KEY}
        placed = {key: text for key, text in configs.items() if key not in left_out}
        if self._database != DEFAULT_DATABASE:
            placed[DATABASE_KEY] = self._database
        if placed.get(QUARANTINE_KEY):
            placed[QUARANTINE_KEY] = self._prefix + placed[QUARANTINE_KEY]
        return placed

    def alter(self, topic: str, configs: Mapping[str, str]) -> None:
        """Give a topic these configurations of its own, and no others.  Raises: CommandError."""
        name = self.name_of(topic)
        wanted, before = self._placed(configs), own_configs(self._target, name)
        lines = [
            AlterableConfig(name=key, config_operation=SET, value=text)
            for key, text in wanted.items()
            if before.get(key) != text and key != DATABASE_KEY
        ]
        lines += [
            AlterableConfig(name=key, config_operation=DELETE, value=None)
            for key in before
            if key not in wanted
        ]
        if lines:
            resource = AlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=lines)
            request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
            checked(self._target.ask(request, 1).responses[0], name)

    def grow(self, topic: str, count: int) -> None:
        """Give a topic so many partitions, if it has fewer.  Raises: CommandError."""
        if self.partitions[topic] >= count:
            return
        grown = CreatePartitionsTopic(name=self.name_of(topic), count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[grown], timeout_ms=WAIT_MS, validate_only=False)
        checked(self._target.ask(request, 2).results[0], self.name_of(topic))
        self.partitions[topic] = count

    def drop(self, topic: str) -> None:
        """Delete a topic.  Raises: CommandError."""
        for place in [place for place in self._pending if place[0] == topic]:
            del self._pending[place]
        for place in [place for place in self.offsets if place[0] == topic]:
            del self.offsets[place]
        checked(delete_topic(self._target, self.name_of(topic)), self.name_of(topic))
        del self.partitions[topic]

    # --- records ---------------------------------------------------------------------------------------

    def add(self, topic: str, partition: int, record: Record, offset: int, more: Headers = ()) -> None:
        """Write a record, soon, that had this offset, with more headers.  Raises: CommandError."""
        place = topic, partition
        if not is_restored(record):
            record = record._replace(headers=(*record.headers, (ORIGIN, self._origin)))
        record = record._replace(headers=(*record.headers, *more))
        pending = self._pending.setdefault(place, _Pending())
        size_bytes = len(record.key or b"") + len(record.value or b"")
        if pending.records and pending.size_bytes + size_bytes > BATCH_BYTES:
            self._write(place)
        pending.records.append(record._replace(offset=len(pending.records)))
        pending.size_bytes += size_bytes
        self.offsets.setdefault(place, OffsetMap()).add(offset)
        self.records += 1
        if len(pending.records) >= BATCH_RECORDS:
            self._write(place)

    def flush(self) -> None:
        """Write all records that have been added.  Raises: CommandError."""
        for place in list(self._pending):
            self._write(place)

    def _write(self, place: tuple[str, int]) -> None:
        pending = self._pending[place]
        if not pending.records:
            return
        topic, partition = place
        name = self.name_of(topic)
        data = PartitionProduceData(index=partition, records=bytes(encode_batch(pending.records)))
        target = TopicProduceData(name=name, partition_data=[data])
        answer = self._target.ask(ProduceRequest(acks=-1, timeout_ms=WAIT_MS, topic_data=[target]), 9)
        outcome: Any = answer.responses[0].partition_responses[0]
        if outcome.error_code:
            raise CommandError(
                f"{name}-{partition}: {refusal(outcome.error_code, outcome.error_message)}; the copy is not"
                " complete: drop it and begin again"
            )
        pending.records.clear()
        pending.size_bytes = 0

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records of the copy that had an offset below this one.  Raises: CommandError."""
        place = topic, partition
        offsets = self.offsets.get(place)
        if offsets is None or not (before := offsets.before(offset)):
            return
        if place in self._pending:
            self._write(place)
        part = DeleteRecordsPartition(partition_index=partition, offset=before)
        asked = DeleteRecordsTopic(name=self.name_of(topic), partitions=[part])
        answer = self._target.ask(DeleteRecordsRequest(topics=[asked], timeout_ms=WAIT_MS), 2)
        code = answer.topics[0].partitions[0].error_code
        admin.check(code, None, f"{self.name_of(topic)}-{partition}")

"""`kawal topics delete-records`: the log start of partitions moved forward."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from console import admin
from console.client import consumer_client, refusal
from console.errors import CommandError
from console.fetcher import METADATA_VERSION, leaders_in
from console.positions import Position, end_offsets, extents_of
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

TIMEOUT_MS = 15_000


class Cut(NamedTuple):
    """The part of a partition that is deleted: the offsets from `start` up to, not including, `before`."""

    partition: int
    start: int
    before: int


def cuts_of(bootstrap: str, topic: str, position: Position, partitions: Sequence[int]) -> list[Cut]:
    """Return what lies before a position, in these partitions or in all.  Raises: CommandError."""
    from kafka.structs import TopicPartition

    with consumer_client(bootstrap) as consumer:
        known = consumer.partitions_for_topic(topic)
        if not known:
            raise CommandError(f"topic {topic!r} does not exist at {bootstrap}")
        for number in partitions:
            if number not in known:
                raise CommandError(f"{topic!r} has partitions 0 to {max(known)}; there is no {number}")
        extents = extents_of([TopicPartition(topic, at) for at in sorted(partitions or known)], consumer)
        befores = end_offsets(position, extents, consumer)
    return [
        Cut(key.partition, extent.start, max(extent.start, befores[key])) for key, extent in extents.items()
    ]


def delete(bootstrap: str, topic: str, cuts: Sequence[Cut]) -> None:
    """Delete what the cuts say.  Raises: CommandError for the first partition that refuses."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    leaders = leaders_in(admin.ask(bootstrap, request, METADATA_VERSION))
    by_leader: dict[str, list[Cut]] = defaultdict(list)
    for cut in cuts:
        if (topic, cut.partition) not in leaders:
            raise CommandError(f"partition {cut.partition} of {topic!r} has no leader now")
        if cut.before > cut.start:
            by_leader[leaders[topic, cut.partition]].append(cut)
    for address, mine in by_leader.items():
        for told in _asked(address, topic, mine):
            if told.error_code:
                where = f"partition {told.partition_index} of {topic!r}"
                raise CommandError(f"{where}: {refusal(told.error_code, None)}")


def _asked(address: str, topic: str, cuts: Sequence[Cut]) -> list[Any]:
    partitions = [DeleteRecordsPartition(partition_index=cut.partition, offset=cut.before) for cut in cuts]
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=partitions)], timeout_ms=TIMEOUT_MS
    )
    found: list[Any] = admin.ask(address, request, 1).topics[0].partitions
    return found

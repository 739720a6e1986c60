"""Topics created, deleted and emptied, by one request each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from console.admin import ask, check
from console.partition_offsets import extents_of, leaders_of, offsets_of
from console.positions import Position
from console.record_deletion import Cut
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest

CREATE_VERSION: Final = 4
"""The first version that knows the broker's own number of partitions and replicas (KIP-464)."""
DELETE_VERSION: Final = 5
PARTITIONS_VERSION: Final = 2
TIMEOUT_MS: Final = 15_000
THE_BROKERS: Final = -1
"""A number of partitions or replicas that the broker chooses."""


def create(bootstrap: str, name: str, partitions: int, configs: Mapping[str, str], *, dry_run: bool) -> None:
    """Create a topic, or only check whether that would work.  Raises: CommandError."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=THE_BROKERS,
        assignments=[],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=dry_run)
    for result in ask(bootstrap, request, CREATE_VERSION).topics:
        check(result.error_code, result.error_message, f"topic {result.name!r}")


def delete(bootstrap: str, name: str) -> None:
    """Delete a topic.  Raises: CommandError with the broker's words."""
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=TIMEOUT_MS)
    for result in ask(bootstrap, request, DELETE_VERSION).responses:
        check(result.error_code, result.error_message, f"topic {result.name!r}")


def set_partitions(bootstrap: str, name: str, count: int, *, dry_run: bool) -> None:
    """Give a topic more partitions, or only check whether that would work.  Raises: CommandError."""
    topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=dry_run)
    for result in ask(bootstrap, request, PARTITIONS_VERSION).results:
        check(result.error_code, result.error_message, f"topic {result.name!r}")


def cuts_before(bootstrap: str, topic: str, position: Position) -> list[Cut]:
    """Return what lies before a position in each partition with a leader.  Raises: CommandError."""
    leaders = leaders_of(bootstrap, [topic])
    places = sorted(leaders)
    extents = extents_of(leaders, places)
    befores = offsets_of(leaders, places, position)
    return [
        Cut(place[1], extents[place].start, max(extents[place].start, befores[place])) for place in places
    ]

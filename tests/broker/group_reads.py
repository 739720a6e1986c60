"""Members of groups that have settings of their own for reading, for tests of what they are shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import iter_batches, read_batch_header
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.groups import beating
from tests.broker.kit import fetch, records_of

GROUP = 32
EPOCH = 2
ORIGIN = ("kawal.origin", b"elsewhere")


def configure(client: Client, group_id: str, **configs: str) -> None:
    """Set configurations of a group; underscores stand for dots, and `kawal.` comes before them."""
    altered = [
        AlterableConfig(name=f"kawal.{name.replace('_', '.')}", config_operation=0, value=value)
        for name, value in configs.items()
    ]
    resource = AlterConfigsResource(resource_type=GROUP, resource_name=group_id, configs=altered)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    (outcome,) = client.call(request, 1).responses
    assert outcome.error_code == 0, outcome


def member(gateway: Gateway, *topics: str, group_id: str = "g", host: str = "10.0.0.9") -> Client:
    """Return the connection of a group's first member, of the consumer protocol, with its partitions.

    Its member id is made of group and host, its epoch is `EPOCH`.
    """
    client = gateway.client(host)
    answer = client.call(beating(group_id, f"{group_id}-{host}", topics=topics), 1)
    assert (answer.error_code, answer.member_epoch) == (0, EPOCH), answer
    assert answer.assignment is not None
    assert {UUID(int=part.topic_id.int) for part in answer.assignment.topic_partitions} == {
        gateway.broker.find_topic(name).topic_id for name in topics
    }
    return client


def records(
    *pairs: tuple[bytes | None, bytes | None], restored: Iterable[int] = (), codec: int = 0
) -> bytearray:
    """Return a batch of (key, value); those at the places in `restored` have the header of an origin."""
    made = [
        Record(place, START_MS + place, key, value, (ORIGIN,) if place in set(restored) else ())
        for place, (key, value) in enumerate(pairs)
    ]
    return encode_batch(made, codec=codec)


def seen(client: Client, name: str, start: int = 0, partition: int = 0) -> list[tuple[int, bytes | None]]:
    """Return offset and value of what the client reads from an offset to the end."""
    found: list[tuple[int, bytes | None]] = []
    position = start
    while True:
        data: Any = fetch(client, name, position, partition)
        assert data.error_code == 0, data
        if position >= data.high_watermark:
            return found
        found += [
            (record.offset, record.value) for record in records_of(data.records) if record.offset >= position
        ]
        after = end_of(data.records)
        assert after > position, "the reader stands still"
        position = after


def end_of(data: Any) -> int:
    """Return the offset after the last batch."""
    return max((read_batch_header(batch).last_offset + 1 for batch in iter_batches(data)), default=-1)

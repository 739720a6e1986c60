"""Streams are found by their ids, however the catalogue has changed since."""

from __future__ import annotations

from broker.view_topics.stream_owners import HEADER_COUNT, StreamOwners
from protocol.record_reader import read_varint
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.topic_changes import grow


def places(owners: StreamOwners, upto: int = 12) -> dict[int, tuple[str, int]]:
    found = {stream_id: owners.find(stream_id) for stream_id in range(upto)}
    return {
        stream_id: (owner.topic.name, owner.index) for stream_id, owner in found.items() if owner is not None
    }


def test_every_partition_has_its_stream_also_those_that_came_later() -> None:
    gateway = Gateway()
    client = gateway.client()
    owners = StreamOwners(gateway.broker.catalogue, "default")
    assert places(owners) == {}
    create(client, "a", 2)
    create(client, "__consumer_offsets", 3)
    create(client, "b", 1)
    grow(client, "a", 3)
    assert places(owners) == {1: ("a", 0), 2: ("a", 1), 6: ("b", 0), 7: ("a", 2)}
    assert owners.owns(7)
    assert not owners.owns(3)
    gateway.broker.delete_topic(gateway.broker.find_topic("a"), gateway.now_ms)
    assert places(owners) == {6: ("b", 0)}
    assert places(StreamOwners(gateway.broker.catalogue, "other")) == {}


def test_the_headers_of_a_record_name_topic_partition_and_offset() -> None:
    gateway = Gateway()
    create(gateway.client(), "a", 1)
    owner = StreamOwners(gateway.broker.catalogue, "default").find(1)
    assert owner is not None
    data, at, parts = owner.headers_of(1_234_567), 0, []
    while at < len(data):
        length, at = read_varint(data, at)
        parts.append(data[at : at + length])
        at += length
    assert parts == [b"kawal.topic", b"a", b"kawal.partition", b"0", b"kawal.offset", b"1234567"]
    assert len(parts) == 2 * HEADER_COUNT

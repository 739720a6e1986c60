"""Compaction keeps the records that carry a key's tags, as long as the key has a record."""

from __future__ import annotations

from random import Random

import pytest

from broker.upkeep.compaction_keys import KeyOffsets
from broker.upkeep.compaction_tags import TagReader, tag_reader
from protocol.record_reader import Record, open_batch, record_heads
from protocol.record_writer import encode_batch
from tests.broker.compacted import fill, made, pairs_of, pass_time, put
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import send
from tests.broker.views import make_view, read_all

COLUMNS = "v int, city string tag, `odd name` int tag"


def carried(reader: TagReader, value: bytes | None, *headers: tuple[str, bytes | None]) -> set[int]:
    header, body = open_batch(memoryview(encode_batch([Record(0, START_MS, None, value, headers)])))
    ((_, _, at, end),) = record_heads(header, body)
    return reader.carried(body, at + 1, end)


@pytest.mark.parametrize(
    ("value", "headers", "tags"),
    [
        (b'{"city":"Porto"}', (), {0}),
        (b'{"v":1,"odd name":3,"city":null}', (), {1}),
        (b'{"city":"Faro","city": null }', (), set()),
        (b'{"\\u0063ity":"Faro"}', (), {0}),
        (b"{}", (("kawal.tag.city", b"Porto"), ("kawal.tag.v", b"1")), {0}),
        (None, (("kawal.tag.odd name", b"3"),), {1}),
        (b"no JSON", (("kawal.tag.city", None), ("kawal.tag.odd name", b"3")), {1}),
        (b"[1]", (), set()),
        (b"[" * 100_000, (), set()),
        (b"\xff", (), set()),
        (b"", (), set()),
    ],
)
def test_tags_are_found_in_members_and_headers(
    value: bytes | None, headers: tuple[tuple[str, bytes | None], ...], tags: set[int]
) -> None:
    reader = tag_reader(COLUMNS)
    assert reader is not None
    assert carried(reader, value, *headers) == tags


def test_a_topic_without_tags_has_no_reader() -> None:
    assert tag_reader("") is None
    assert tag_reader("v int, city string") is None


def test_a_record_that_ends_too_early_carries_nothing() -> None:
    reader = TagReader(["a"])
    batch = encode_batch([Record(0, START_MS, None, b'{"a":1}', (("kawal.tag.a", b"1"),))])
    header, body = open_batch(memoryview(batch))
    ((_, _, at, end),) = record_heads(header, body)
    for cut in range(at + 1, end):
        assert reader.carried(body[:cut], at + 1, cut) <= {0}


def test_the_last_record_that_carries_a_tag_is_known_until_a_tombstone() -> None:
    keys = KeyOffsets(0)
    for offset, tags in enumerate([{0, 1}, {0}, set()]):
        keys.put(b"k", offset)
        keys.carry(b"k", tags, offset)
    assert [keys.carries(b"k", {0, 1}, offset) for offset in (0, 1)] == [True, True]
    assert [keys.carries(b"k", {0}, offset) for offset in (0, 1)] == [False, True]
    assert keys.carries(b"unknown", {0}, 0)
    keys.put_tombstone(b"k", 3)
    assert keys.last(b"k") == 3
    assert not keys.carries(b"k", {0, 1}, 1)
    keys.put_tombstone(b"zero", 0)
    assert keys.last(b"zero") == 0


def opened() -> tuple[Gateway, Client]:
    gateway = Gateway()
    client = gateway.client()
    made(client, kawal_columns=COLUMNS)
    make_view(client, "cities", "SELECT city, v FROM t WHERE v >= 0")
    return gateway, client


def cities(client: Client) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in read_all(client, "cities")]


def compact(gateway: Gateway, client: Client) -> None:
    fill(client, "t")
    pass_time(gateway)


def test_a_tag_that_only_a_superseded_record_carries_outlives_compaction_and_restarts() -> None:
    gateway, client = opened()
    put(client, "t", [(b"k", b'{"v":1,"city":"Porto"}'), (b"j", b'{"v":1,"city":"Faro"}')])
    for number in range(2, 8):
        put(client, "t", [(b"k", b'{"v":%d}' % number)])
        compact(gateway, client)
        found = pairs_of(client, "t")
        assert found[0] == (0, b"k", b'{"v":1,"city":"Porto"}')
        assert [value for _, key, value in found if key == b"k"][1:] == [b'{"v":%d}' % number]
        newest = b'{"city":"Porto","v":%d}' % number
        assert cities(client)[-1][1] == newest
        gateway.restart()
        client = gateway.client()
        assert cities(client)[-1][1] == newest
    put(client, "t", [(b"k", b'{"v":9,"city":"Lagos"}')])
    compact(gateway, client)
    assert [value for _, key, value in pairs_of(client, "t") if key == b"k"] == [b'{"v":9,"city":"Lagos"}']


def test_a_tombstone_takes_the_tags_of_its_key_with_it() -> None:
    gateway, client = opened()
    put(client, "t", [(b"k", b'{"v":1,"city":"Porto"}'), (b"k", b'{"v":2}')])
    assert len(cities(client)) == 2
    put(client, "t", [(b"k", None)])
    compact(gateway, client)
    assert [value for _, key, value in pairs_of(client, "t") if key == b"k"] == [None]
    put(client, "t", [(b"k", b'{"v":3}')])
    for _ in range(2):
        assert [value for _, value in cities(client)] == [b'{"city":null,"v":3}']
        gateway.restart()
        client = gateway.client()


@pytest.mark.parametrize("seed", range(6))
def test_what_a_view_shows_of_the_last_records_is_the_same_before_and_after_compaction(seed: int) -> None:
    gateway, chance = Gateway(), Random(seed)
    client = gateway.client()
    made(client, kawal_columns=COLUMNS)
    make_view(client, "cities", "SELECT city, v, `odd name` AS o FROM t WHERE v >= 0")
    newest: dict[bytes, bytes | None] = {}
    for turn in range(6):
        for number in range(8):
            key = b"k%d" % chance.randrange(5)
            members = [b'"v":%d' % number]
            if chance.random() < 0.3:
                members.append(b'"city":"c%d"' % number)
            headers = (("kawal.tag.odd name", b"%d" % number),) if chance.random() < 0.3 else ()
            value = b"{%s}" % b",".join(members)
            send(client, "t", encode_batch([Record(0, START_MS, key, value, headers)]))
        newest = {record.key or b"": record.value for record in read_all(client, "cities")}
        if turn % 2:
            gateway.crash()
            client = gateway.client()
        compact(gateway, client)
        found = {record.key or b"": record.value for record in read_all(client, "cities")}
        assert found == newest

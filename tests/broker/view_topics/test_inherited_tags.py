"""A key keeps its tags when its topic grows and it lies elsewhere, whatever was read before or restarted."""

from __future__ import annotations

from collections.abc import Generator
from random import Random

import pytest

from broker.view_topics import inherited_tags
from broker.view_topics.query_view import QueryPartition
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.compacted import SMALL, fill, pass_time
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, send
from tests.broker.topic_changes import grow
from tests.broker.transactions import end, transactional
from tests.broker.views import make_view, read_all, view_of

COLUMNS = "v int, city string tag, zone int tag"


def opened(partitions: int = 1, **configs: str) -> tuple[Gateway, Client]:
    gateway = Gateway(kawal_vnodes=2)
    client = gateway.client()
    create(client, "t", partitions, kawal_columns=COLUMNS, **configs)
    make_view(client, "cities", "SELECT v, city, zone FROM t WHERE v >= 0")
    return gateway, client


def put(client: Client, partition: int, key: bytes, value: bytes) -> None:
    batch = encode_batch([Record(0, START_MS, key, value)])
    assert send(client, "t", batch, partition=partition).error_code == 0


def shown(client: Client, partition: int, offset: int = 0, name: str = "cities") -> list[bytes | None]:
    return [record.value for record in read_all(client, name, partition, offset) if record.key != b"filler"]


def test_ten_keys_that_were_tagged_once_keep_their_tags_after_growth() -> None:
    gateway, client = opened(2)
    for number in range(10):
        put(client, number % 2, b"k%d" % number, b'{"v":%d,"city":"c%d"}' % (number, number))
    grow(client, "t", 5)
    for number in range(10):
        put(client, number % 5, b"k%d" % number, b'{"v":%d}' % (10 + number))
    for _ in range(2):
        found = [shown(client, partition)[-2:] for partition in range(5)]
        assert found == [
            [b'{"v":%d,"city":"c%d","zone":null}' % (10 + number, number) for number in (low, low + 5)]
            for low in range(5)
        ]
        gateway.restart()
        client = gateway.client()


def test_a_key_that_moves_away_and_back_has_its_newest_tags() -> None:
    _, client = opened(1)
    put(client, 0, b"k", b'{"v":1,"city":"Porto","zone":7}')
    put(client, 0, b"j", b'{"v":1,"city":"Faro"}')
    grow(client, "t", 2)
    put(client, 1, b"k", b'{"v":2,"city":"Lagos"}')
    grow(client, "t", 3)
    put(client, 0, b"k", b'{"v":3}')
    put(client, 0, b"j", b'{"v":3}')
    put(client, 2, b"k", b'{"v":4}')
    assert shown(client, 0, 2) == [
        b'{"v":3,"city":"Lagos","zone":7}',
        b'{"v":3,"city":"Faro","zone":null}',
    ]
    assert shown(client, 1) == [b'{"v":2,"city":"Lagos","zone":7}']
    assert shown(client, 2) == [b'{"v":4,"city":"Lagos","zone":7}']
    assert shown(client, 0)[0] == b'{"v":1,"city":"Porto","zone":7}', "old records keep their old tags"


def test_tags_after_the_growth_stay_in_their_partition_and_undecided_ones_do_not_move() -> None:
    gateway, client = opened(1)
    put(client, 0, b"k", b'{"v":1,"city":"Porto"}')
    transactional(gateway, b'{"v":2,"city":"never"}', 1)
    grow(client, "t", 2)
    end(gateway, 1, commit=True)
    put(client, 0, b"k", b'{"v":3,"city":"late"}')
    put(client, 1, b"k", b'{"v":4}')
    assert shown(client, 1) == [b'{"v":4,"city":"Porto","zone":null}']


def test_a_growth_is_followed_while_the_view_is_read() -> None:
    gateway, client = opened(1)
    put(client, 0, b"k", b'{"v":1,"city":"Porto"}')
    assert len(shown(client, 0)) == 1
    for count in (2, 3, 4):
        grow(client, "t", count)
        put(client, 0, b"k", b'{"v":5}')
        put(client, count - 1, b"k", b'{"v":6,"zone":%d}' % count)
        assert shown(client, count - 1) == [b'{"v":6,"city":"Porto","zone":%d}' % count]
    expected = [shown(client, partition) for partition in range(4)]
    assert [(value or b"").rpartition(b":")[2] for value in expected[0]] == [b"null}", b"null}", b"2}", b"3}"]
    gateway.crash()
    assert [shown(gateway.client(), partition) for partition in range(4)] == expected


@pytest.mark.parametrize("seed", range(4))
def test_what_is_shown_is_what_the_keys_were_tagged_with_wherever_a_reader_begins(seed: int) -> None:
    chance = Random(seed)
    gateway, client = opened(2)
    names = [b"k%d" % number for number in range(12)]
    known: dict[bytes, dict[str, str]] = {name: {} for name in names}
    expected: dict[int, list[bytes]] = {}
    partitions = 2
    for turn in range(4):
        for number in range(40):
            place = chance.randrange(len(names))
            name, tags = names[place], {}
            if chance.random() < 0.3:
                tags["city"] = f'"c{number}"'
            if chance.random() < 0.2:
                tags["zone"] = str(number)
            known[name] |= tags
            members = ",".join([f'"v":{number}', *(f'"{tag}":{text}' for tag, text in tags.items())])
            put(client, place % partitions, name, b"{%s}" % members.encode())
            city, zone = known[name].get("city", "null"), known[name].get("zone", "null")
            expected.setdefault(place % partitions, []).append(
                f'{{"v":{number},"city":{city},"zone":{zone}}}'.encode()
            )
            if chance.random() < 0.05:
                shown(client, chance.randrange(partitions))
        if turn % 2:
            gateway.crash()
            client = gateway.client()
        partitions += chance.choice([1, 3])
        grow(client, "t", partitions)
    for _ in range(2):
        for partition, values in expected.items():
            begin = chance.randrange(len(values))
            assert shown(client, partition, begin) == values[begin:]
            assert shown(client, partition) == values
        gateway.restart()
        client = gateway.client()


def test_tags_of_erased_keys_are_not_inherited() -> None:
    gateway, client = opened(1, **SMALL)
    put(client, 0, b"k", b'{"v":1,"city":"Porto"}')
    put(client, 0, b"j", b'{"v":1,"city":"Faro"}')
    grow(client, "t", 2)
    put(client, 1, b"k", b'{"v":2}')
    put(client, 1, b"j", b'{"v":2}')
    assert shown(client, 1)[0] == b'{"v":2,"city":"Porto","zone":null}'
    tombstone = encode_batch([Record(0, START_MS, b"k", None)])
    assert send(client, "t", tombstone).error_code == 0
    fill(client, "t")
    pass_time(gateway)
    for _ in range(2):
        assert shown(client, 1) == [
            b'{"v":2,"city":null,"zone":null}',
            b'{"v":2,"city":"Faro","zone":null}',
        ]
        gateway.restart()
        client = gateway.client()


def test_a_reader_that_leaves_while_tags_are_learned_leaves_nothing_half_done() -> None:
    gateway, client = opened(1)
    for number in range(30):
        put(client, 0, b"k%d" % number, b'{"v":1,"city":"c%d"}' % number)
    grow(client, "t", 2)
    put(client, 1, b"k29", b'{"v":2}')
    view = view_of(gateway)
    assert view.evaluator.plan.used_columns
    assert view._inherited is not None
    steps = view._inherited.steps(lambda *_: (None for _ in range(2)), 0)
    next(steps)
    assert isinstance(steps, Generator)
    steps.close()
    assert shown(client, 1) == [b'{"v":2,"city":"c29","zone":null}']


def test_growths_share_what_keys_had_before_and_the_oldest_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inherited_tags, "INHERITED_MAX", 3)
    gateway, client = opened(1)
    for number in range(3):
        put(client, 0, b"k%d" % number, b'{"v":1,"city":"c%d"}' % number)
        grow(client, "t", 2 + number)
    put(client, 0, b"k3", b'{"v":1,"city":"c3"}')
    grow(client, "t", 5)
    for number in range(4):
        put(client, 4, b"k%d" % number, b'{"v":2}')
    assert shown(client, 4) == [
        b'{"v":2,"city":null,"zone":null}',
        *(b'{"v":2,"city":"c%d","zone":null}' % number for number in (1, 2, 3)),
    ]
    view = gateway.partition("cities", 4)
    assert isinstance(view, QueryPartition)
    assert view._inherited is not None
    tables = [table for _, table in view._inherited._tables]
    assert [len(table.own) for table in tables] == [0, 1, 1, 1]
    assert dict(tables[-1]).keys() == {b"k1", b"k2", b"k3"}

"""Views over tags show the same records from every offset, on every read, and after a restart."""

from __future__ import annotations

from collections.abc import Generator
from random import Random

import pytest

from broker.view_topics.view_slices import SliceBudget
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, send
from tests.broker.views import make_view, read_all, step, view_of
from views.partition_tags import PartitionTags

SQL = "SELECT city, v FROM meters WHERE city IS NOT NULL"


def meters(gateway: Gateway) -> Client:
    client = gateway.client()
    create(client, "meters", kawal_columns="v int, city varchar(20) tag")
    make_view(client, "cities", SQL)
    return client


def write(client: Client, chance: Random, count: int) -> list[tuple[int, bytes]]:
    """Write records, a third with a tag that changes now and then; return the records the view shows."""
    known: dict[bytes, str] = {}
    shown = []
    for offset in range(0, count, 5):
        records = []
        for number in range(offset, offset + 5):
            key = b"m%d" % chance.randrange(4)
            own = chance.choice(["Porto", "Faro"]) if chance.random() < 0.3 else None
            known |= {key: own} if own else {}
            value = b'{"v":%d%s}' % (number, b',"city":"%s"' % own.encode() if own else b"")
            records.append(Record(number - offset, START_MS, key, value))
            if key in known:
                shown.append((number, b'{"city":"%s","v":%d}' % (known[key].encode(), number)))
        send(client, "meters", encode_batch(records))
    return shown


def told(client: Client, offset: int) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in read_all(client, "cities", offset=offset)]


@pytest.mark.parametrize("keys_max", [100_000, 4])
def test_what_is_shown_does_not_depend_on_what_was_read_before(keys_max: int) -> None:
    gateway, chance = Gateway(), Random(7)
    client = meters(gateway)
    shown = write(client, chance, 300)
    view = view_of(gateway)
    assert view.evaluator.plan.used_columns == {"city", "v"}
    view._tags = PartitionTags(keys_max)
    for _ in range(40):
        offset = chance.randrange(300)
        assert told(client, offset) == [entry for entry in shown if entry[0] >= offset]
        # Findings may be evicted from memory at any time.
        for start in [entry.start for entry in view.ranges._entries if chance.random() < 0.5]:
            view.ranges.remove(start)


def test_a_reader_in_the_middle_after_a_restart_sees_the_tags_from_before() -> None:
    gateway = Gateway()
    shown = write(meters(gateway), Random(8), 200)
    for again in (gateway.restart, gateway.crash):
        again()
        assert told(gateway.client(), 150) == [entry for entry in shown if entry[0] >= 150]


def test_a_batch_that_is_left_half_way_has_taught_nothing() -> None:
    gateway = Gateway()
    client = meters(gateway)
    records = [Record(number, START_MS, b"m", b'{"v":%d}' % number) for number in range(7_000)]
    records[0] = Record(0, START_MS, b"m", b'{"v":0,"city":"Porto"}')
    records[3_000] = Record(3_000, START_MS, b"m", b'{"v":3000,"city":"Faro"}')
    records[4_500] = Record(4_500, START_MS, b"n", b'{"v":4500,"city":"Lagos"}')
    records[1] = Record(1, START_MS, b"n", b'{"v":1}')
    send(client, "meters", encode_batch(records))
    looking = view_of(gateway)
    assert looking.evaluator.plan.used_columns
    steps = looking.look(0, SliceBudget())
    assert isinstance(steps, Generator)
    step(steps)
    step(steps)
    steps.close()
    shown = read_all(client, "cities")
    assert [record.value for record in shown[:2]] == [b'{"city":"Porto","v":0}', b'{"city":"Porto","v":2}']
    assert len(shown) == 6_999


def test_tags_of_records_that_retention_has_deleted_are_known_until_the_next_start() -> None:
    gateway = Gateway()
    client = meters(gateway)
    send(client, "meters", batch(b'{"v":1,"city":"Porto"}', key=b"m"))
    send(client, "meters", batch(b'{"v":2}', key=b"m"))
    assert len(told(client, 0)) == 2
    source = gateway.partition("meters")
    source.vnode.log.set_log_start(source.stream_id, 1)
    gateway.settle()
    send(client, "meters", batch(b'{"v":3}', key=b"m"))
    assert told(client, 1) == [(1, b'{"city":"Porto","v":2}'), (2, b'{"city":"Porto","v":3}')]
    gateway.restart()
    client = gateway.client()
    send(client, "meters", batch(b'{"v":4,"city":"Faro"}', key=b"m"))
    assert told(client, 1) == [(3, b'{"city":"Faro","v":4}')]

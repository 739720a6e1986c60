"""Partitions as a group sees them: what is left out, packed, moved past, and shown as it is."""

from __future__ import annotations

from typing import Any

import pytest

from broker.view_topics.key_snapshot import KeyBudget, KeySnapshot
from broker.view_topics.member_view import MemberView
from broker.view_topics.view_partition import ViewRead
from protocol.compression import Codec
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import iter_batches, read_batch_header, renew_crc
from tests.broker.databases import create_database
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.group_reads import ORIGIN, configure, member, records, seen
from tests.broker.kit import create, fetch, fetched, fetching, records_of, send
from tests.broker.txn import Producer
from tests.broker.views import named_client
from wal.reader import ReadResult


def written(codec: int = Codec.NONE) -> tuple[Gateway, Client]:
    gateway = Gateway(kawal_rebalance_interval_ms=0)
    client = gateway.client("10.0.0.1")
    create(client, "t", kawal_columns="n int")
    pairs = [(b"k%d" % number, b'{"n":%d}' % number) for number in range(6)]
    send(client, "t", records(*pairs[:3], restored=[0, 2], codec=codec))
    send(client, "t", records(*pairs[3:], restored=[0, 1, 2], codec=codec))
    send(client, "t", records((b"k6", b'{"n":6}'), codec=codec))
    return gateway, client


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_records_with_an_origin_are_left_out_and_passed_over(codec: int) -> None:
    gateway, client = written(codec)
    configure(client, "g", consume_excluded="true")
    reader = member(gateway, "t")
    assert seen(reader, "t") == [(1, b'{"n":1}'), (6, b'{"n":6}')]
    headers = [
        (header.base_offset, header.last_offset)
        for header in map(read_batch_header, iter_batches(fetch(reader, "t").records))
    ]
    assert headers == [(0, 2), (6, 6)]


def test_where_nothing_is_shown_the_reader_is_told_of_its_progress() -> None:
    gateway, client = written()
    send(client, "t", records((b"k", b"{}"), restored=[0]))
    configure(client, "g", consume_excluded="true")
    reader = member(gateway, "t")
    empty = fetch(reader, "t", 7)
    assert (list(records_of(empty.records)), read_batch_header(empty.records).last_offset) == ([], 7)


def test_every_kind_of_view_leaves_them_out() -> None:
    gateway, client = written()
    create(client, "q", -1, kawal_sql="SELECT n FROM t WHERE n > 0")
    create(client, "all", -1, kawal_sql="DATABASE default")
    create(client, "a", -1, kawal_alias_of="t")
    configure(client, "g", consume_excluded="true")
    reader = member(gateway, "q", "all", "a")
    both = [b'{"n":1}', b'{"n":6}']
    for name in ("q", "a"):
        assert [value for _, value in seen(reader, name)] == both
    shown = {value for index in range(2) for _, value in seen(reader, "all", partition=index)}
    assert set(both) <= shown
    assert b'{"n":3}' not in shown


def test_a_batch_that_cannot_be_opened_is_shown_as_it_is() -> None:
    gateway, client = written()
    good = encode_batch([Record(0, START_MS, b"k", b"kawal.origin" * 9, (ORIGIN,))], codec=Codec.ZSTD)
    broken = bytearray(good)
    broken[70:75] = b"\xff" * 5
    renew_crc(broken)
    assert send(client, "t", broken).error_code == 0
    configure(client, "g", consume_excluded="true")
    data = fetch(member(gateway, "t"), "t", 7)
    assert bytes(data.records)[61:] == bytes(broken)[61:]


def test_append_times_stay() -> None:
    gateway = Gateway(kawal_rebalance_interval_ms=0)
    client = gateway.client("10.0.0.1")
    create(client, "t", message_timestamp_type="LogAppendTime")
    send(client, "t", records((b"a", b"1"), (b"b", b"2"), restored=[0]))
    configure(client, "g", consume_excluded="true")
    (batch,) = iter_batches(fetch(member(gateway, "t"), "t").records)
    original = read_batch_header(next(iter_batches(fetch(client, "t").records)))
    assert read_batch_header(batch).is_append_time
    assert read_batch_header(batch).max_timestamp == original.max_timestamp


def test_changes_that_follow_each_other_come_in_one_batch() -> None:
    gateway = Gateway(kawal_rebalance_interval_ms=0)
    client = gateway.client("10.0.0.1")
    create_database(client, "d", vnodes="1")
    create(client, "all", -1, kawal_sql="DATABASE d WITH META")
    for name in ("p", "q"):
        create(client, name, kawal_database="d")
    send(client, "p", records((b"k", b"v")))
    create(client, "r", kawal_database="d")
    configure(client, "g", enable_batch_meta="true")

    def batches(reader: Client) -> list[list[bytes | None]]:
        data = fetch(reader, "all")
        return [[record.key for record in iter_records(batch)] for batch in iter_batches(data.records)]

    assert batches(client) == [[b"p"], [b"q"], [b"k"], [b"r"]]
    packed = member(gateway, "all")
    assert batches(packed) == [[b"p", b"q"], [b"k"], [b"r"]]
    assert seen(packed, "all") == seen(client, "all")


def test_a_snapshot_of_a_database_tells_topics_apart() -> None:
    gateway = Gateway(kawal_rebalance_interval_ms=0)
    client = gateway.client("10.0.0.1")
    create_database(client, "d", vnodes="1")
    create(client, "all", -1, kawal_sql="DATABASE d WITH META")
    for name in ("p", "q"):
        create(client, name, kawal_database="d")
        send(client, name, records((b"k", b"old"), (b"k", name.encode())))
    configure(client, "g", snapshot_enable="true")
    shown = [value for _, value in seen(member(gateway, "all"), "all")]
    assert [value for value in shown if value in (b"p", b"q", b"old")] == [b"p", b"q"]
    assert sum(value is not None and b'"create"' in value for value in shown) == 2


def test_a_parked_fetch_is_woken_by_what_its_group_is_shown() -> None:
    gateway, client = written()
    configure(client, "g", consume_excluded="true")
    reader = member(gateway, "t")
    reader.send(fetching({("t", 0): 7}, max_wait_ms=500), 12)
    assert reader.answers() == []
    send(client, "t", records((b"k", b'{"n":7}')))
    (answer,) = reader.answers()
    assert [record.offset for record in records_of(fetched(answer)["t", 0].records)] == [7]


def test_much_that_is_left_out_is_passed_in_several_fetches() -> None:
    gateway, client = written()
    for _ in range(40):
        send(client, "t", records((b"k", bytes(60_000)), restored=[0]))
    configure(client, "g", consume_excluded="true")
    reader = named_client(gateway)
    member(gateway, "t")
    read = ViewRead(0, 1 << 20, now_ms=gateway.now_ms)
    view = MemberView(gateway.broker, gateway.partition("t"))
    view.excludes = True
    steps = list(view.steps(read))
    assert len(steps) >= 8
    assert read.position == 47
    assert seen(reader, "t") == [(1, b'{"n":1}'), (6, b'{"n":6}')]


def test_a_reader_that_had_read_undecided_records_waits_for_their_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway, client = written()
    producer = Producer(gateway)
    producer.write("t", 0, b"undecided")
    configure(client, "g", consume_excluded="true")
    reader = member(gateway, "t")
    data: Any = fetch(reader, "t", 8)
    assert (data.error_code, bytes(data.records or b"")) == (0, b"")
    producer.commit()
    assert fetch(reader, "t", 8).error_code == 0


class Compacted:
    """A partition whose records up to its end have all been removed."""

    index = 0
    last_stable_offset = 9

    def read(self, offset: int, max_bytes: int, *, minimum_one: bool, end: int) -> ReadResult:
        return ReadResult(parts=[], size_bytes=0, next_offset=offset)

    def aborted_between(self, start: int, end: int) -> list[Any]:
        return []


def test_where_compaction_has_left_nothing_a_reader_and_a_snapshot_reach_the_end() -> None:
    gateway, _ = written()
    partition: Any = Compacted()
    view = MemberView(gateway.broker, partition)
    view.snapshot = KeySnapshot(0, 9, KeyBudget(), over_many=False)
    read = ViewRead(0, 1 << 20, now_ms=gateway.now_ms)
    list(view.steps(read))
    assert (read.position, read.stopped, view.snapshot.is_complete) == (9, False, True)

"""Quarantines: views of records that do not fit their source's columns, read like any topic."""

from __future__ import annotations

import json

import pytest

from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch, transaction_marker_batch
from protocol.records import HEADER_BYTES, check_crc, iter_batches, read_batch_header, renew_crc
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, fetch, fetching, records_of, send, values
from tests.broker.topic_requests import altered, asked, configs, deleted
from tests.broker.views import counters, make_view, named_client, read_all
from wal.format import EntryKind
from wal.stream_producers import ProducerStamp

COLUMNS = "id bigint, delay int, carrier varchar(8), ratio double"
DEEP = b'{"id":1,"more":%s%s}' % (b"[" * 100_000, b"]" * 100_000)
HUGE = {
    b'{"id":9223372036854775808}': "id: 9223372036854775808 is beyond bigint, which goes from",
    b'{"delay":2147483648}': "delay: 2147483648 is beyond int, which goes from",
    b'{"ratio":1e999}': "ratio: 1e999 is more than a double can be",
    b'{"id":%s}' % (b"7" * 10_000): f"id: {'7' * 37}... is beyond bigint",
}


def quarantine(gateway: Gateway) -> Client:
    """Return a client of a gateway with the topic `flights`, and the view `bad` of its unfit records."""
    client = named_client(gateway)
    create(client, "flights", kawal_columns=COLUMNS)
    make_view(client, "bad", "UNFIT flights")
    return client


def reasons(found: list[Record]) -> list[str]:
    assert all(name == "kawal.unfit" for name, _ in (record.headers[-1] for record in found))
    return [(record.headers[-1][1] or b"").decode() for record in found]


def test_a_quarantine_shows_what_does_not_fit_as_it_came_with_its_reason() -> None:
    client = quarantine(Gateway())
    headers = (("a", b"1"), ("a", None))
    given = [
        Record(0, START_MS, b"k", b'{"id":1}'),
        Record(1, START_MS + 5, b"\xff", b'{"id":"one"}', headers),
        Record(2, START_MS + 3, None, None),
        Record(3, START_MS + 4, b"", b"no"),
    ]
    send(client, "flights", encode_batch(given))
    data = fetch(client, "bad")
    assert (data.log_start_offset, data.high_watermark, data.last_stable_offset) == (0, 4, 4)
    (shown,) = iter_batches(data.records)
    assert check_crc(shown)
    assert list(records_of(data.records)) == [
        given[1]._replace(headers=(*headers, ("kawal.unfit", b"id: expected bigint, got a string"))),
        given[3]._replace(headers=(("kawal.unfit", b"not JSON: input data was truncated"),)),
    ]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_query_and_the_quarantine_part_every_batch_between_them(codec: int) -> None:
    gateway = Gateway()
    client = quarantine(gateway)
    make_view(client, "late", "SELECT * FROM flights WHERE id >= 0 AND (ratio IS NULL OR ratio < 2)")
    rows = [b'{"id":%d}' % n if n % 5 else b'{"id":%d,"ratio":"?"}' % n for n in range(100)]
    send(client, "flights", batch(*rows, codec=codec))
    assert values(fetch(client, "late").records) == [row for row in rows if b"?" not in row]
    assert values(fetch(client, "bad").records) == [row for row in rows if b"?" in row]
    assert counters(gateway, "late") == (100, 80, 20)
    assert counters(gateway, "bad") == (100, 20, 0)


@pytest.mark.parametrize("value", list(HUGE), ids=[value[:20].decode() for value in HUGE])
def test_oversized_numbers_are_left_out_and_counted_and_quarantined(value: bytes) -> None:
    gateway = Gateway()
    client = quarantine(gateway)
    make_view(client, "some", "SELECT id, delay, ratio FROM flights")
    send(client, "flights", batch(b'{"id":1}', value, b'{"id":2}'))
    shown = [json.loads(row or b"")["id"] for row in values(fetch(client, "some").records)]
    assert (shown, counters(gateway, "some")) == ([1, 2], (3, 2, 1))
    (quarantined,) = read_all(client, "bad")
    assert (quarantined.offset, quarantined.value) == (1, value)
    assert reasons([quarantined])[0].startswith(HUGE[value])


def test_deeply_nested_json_is_left_out_and_counted_and_quarantined() -> None:
    gateway = Gateway()
    client = quarantine(gateway)
    make_view(client, "some", "SELECT id FROM flights")
    send(client, "flights", batch(b'{"id":1}', DEEP, b'{"id":2}'))
    assert values(fetch(client, "some").records) == [b'{"id":1}', b'{"id":2}']
    assert counters(gateway, "some") == (3, 2, 1)
    found = read_all(client, "bad")
    assert [(record.offset, record.value) for record in found] == [(1, DEEP)]
    assert reasons(found) == ["nested too deeply"]


def test_where_nothing_is_unfit_readers_move_to_the_end() -> None:
    gateway = Gateway()
    client = quarantine(gateway)
    for number in range(3):
        send(client, "flights", batch(b'{"id":%d}' % number))
    (empty,) = iter_batches(fetch(client, "bad", offset=1).records)
    header = read_batch_header(empty)
    assert (header.base_offset, header.last_offset, header.record_count) == (1, 2, 0)
    assert counters(gateway, "bad")[1:] == (0, 0)


def test_a_fetch_that_waits_is_woken_by_what_does_not_fit_only() -> None:
    gateway = Gateway()
    client = quarantine(gateway)
    client.send(fetching({("bad", 0): 0}, max_wait_ms=10_000), 12)
    other = gateway.client()
    send(other, "flights", batch(b'{"id":1}'))
    gateway.advance(1_000)
    assert client.answers() == []
    send(other, "flights", batch(b"?"))
    gateway.settle()
    (answer,) = client.answers()
    assert values(answer.responses[0].partitions[0].records) == [b"?"]


def test_a_quarantine_is_the_same_after_a_crash_and_a_restart() -> None:
    gateway = Gateway()
    client = quarantine(gateway)
    send(client, "flights", batch(b"?", b'{"id":1}', b'{"id":[]}'))
    before = read_all(client, "bad")
    assert len(before) == 2
    for again in (gateway.crash, gateway.restart):
        again()
        assert read_all(named_client(gateway), "bad") == before


def test_columns_that_come_later_do_not_count_and_those_in_use_are_kept() -> None:
    gateway = Gateway()
    client = quarantine(gateway)
    code, message = altered(client, "flights", "kawal.columns", "id bigint")
    assert code == ErrorCode.POLICY_VIOLATION
    assert "column 'delay' of 'flights' cannot be dropped: it is used by the view 'bad'" in message
    assert altered(client, "flights", "kawal.columns", COLUMNS + ", gate int")[0] == 0
    gateway.restart()
    client = named_client(gateway)
    send(client, "flights", batch(b'{"gate":"B7"}', b'{"delay":"long"}'))
    assert values(fetch(client, "bad").records) == [b'{"delay":"long"}']
    assert deleted(client, "flights")["flights"][0] == ErrorCode.POLICY_VIOLATION


def test_a_quarantine_is_described_by_its_statement_source_and_columns() -> None:
    client = quarantine(Gateway())
    shown = configs(client, "bad")
    assert (shown["kawal.sql"].value, shown["kawal.source"].value) == ("UNFIT flights", "flights")
    schema = json.loads(shown["kawal.schema"].value)
    assert schema["columns"] is None
    assert [column["name"] for column in schema["uses"]] == ["id", "delay", "carrier", "ratio"]


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("UNFIT flight", "there is no topic 'flight' to read; did you mean 'flights'?"),
        ("UNFIT bad", "'bad' is a view over 'flights'"),
        ("UNFIT plain", "'plain' declares none; set kawal.columns on it"),
        ("UNFIT flights (gate)", "column 'gate' is unknown"),
        ("UNFIT flights WHERE delay > 1", "column 'delay': after UNFIT, WHERE takes _rowts"),
        ("UNFIT flights WITH META", "'WITH' at line 1"),
        ("WITH META AS UNFIT flights", "WITH META is for STABLE and DATABASE, not for UNFIT"),
        ("CREATE TOPIC other AS UNFIT flights", "creates topic 'other'"),
    ],
)
def test_what_cannot_be_a_quarantine_is_refused_with_a_sentence(sql: str, part: str) -> None:
    client = quarantine(Gateway())
    create(client, "plain")
    code, message = asked(client, "v", sql)
    assert (code, part in message) == (ErrorCode.INVALID_CONFIG, True), message


def test_a_quarantine_may_be_of_some_keys_and_of_some_columns() -> None:
    client = quarantine(Gateway())
    make_view(client, "of-tp", "UNFIT flights (delay) WHERE tbname = 'TP'")
    send(client, "flights", batch(b'{"delay":"x"}', b'{"id":"x"}', key=b"TP"))
    send(client, "flights", batch(b'{"delay":"x"}', key=b"BA"))
    assert [record.offset for record in read_all(client, "of-tp")] == [0]


def test_a_quarantine_can_have_bounds() -> None:
    client = quarantine(Gateway())
    make_view(client, "second", "UNFIT flights", **{"kawal.from": "offset 1"})
    send(client, "flights", batch(b"?", b"??"))
    assert [record.value for record in read_all(client, "second", offset=1)] == [b"??"]


def test_records_of_aborted_transactions_are_nobodys() -> None:
    gateway = Gateway()
    client = quarantine(gateway)
    send(client, "flights", batch(b"?"))
    partition = gateway.partition("flights")
    data = encode_batch(
        [Record(0, START_MS, None, b"gone")],
        producer_id=2,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    partition.vnode.log.append(partition.stream_id, data, producer=ProducerStamp(2, 0, 0, 1, True))
    gateway.settle()
    assert fetch(client, "bad").high_watermark == 1
    marker = transaction_marker_batch(
        commit=False, offset=0, timestamp_ms=START_MS, producer_id=2, producer_epoch=0, coordinator_epoch=0
    )
    partition.vnode.log.append(partition.stream_id, marker, kind=EntryKind.CONTROL)
    gateway.settle()
    send(client, "flights", batch(b"!"))
    assert [record.value for record in read_all(client, "bad")] == [b"?", b"!"]


def test_a_batch_that_cannot_be_opened_is_shown_as_one_record() -> None:
    gateway = Gateway()
    client = quarantine(gateway)
    damaged = batch(b'{"id":1}', b'{"id":2}', codec=Codec.ZSTD)
    damaged[HEADER_BYTES] ^= 0xFF
    renew_crc(damaged)
    send(client, "flights", batch(b'{"id":0}'))
    assert send(client, "flights", damaged).error_code == 0
    send(client, "flights", batch(b"?"))
    found = read_all(client, "bad")
    assert [record.offset for record in found] == [1, 3]
    assert reasons(found)[0].startswith("the batch of 2 records from offset 1 to 2 cannot be opened: ")
    assert (found[0].value or b"")[HEADER_BYTES:] == bytes(damaged[HEADER_BYTES:])
    assert counters(gateway, "bad") == (4, 2, 0)


def test_a_large_batch_of_what_does_not_fit_is_looked_at_in_slices() -> None:
    gateway = Gateway()
    client = quarantine(gateway)
    send(client, "flights", batch(*[b'{"id":"x"}'] * 20_000, codec=Codec.LZ4))
    client.send(fetching({("bad", 0): 0}, max_wait_ms=0), 12)
    slices = 0
    while gateway.run_jobs() or gateway.broker.scheduler.pending:
        gateway.broker.scheduler.run()
        slices += 1
    (answer,) = client.answers()
    assert len(values(answer.responses[0].partitions[0].records)) == 20_000
    assert slices > 10

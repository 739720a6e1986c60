"""Views over one topic: the records they show, the readers they wake, and their cost."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from typing import Any

import pytest

from broker.loop.slices import run_here
from broker.view_topics.query_view import QueryPartition
from broker.view_topics.scanned_view import FETCH_SLICES
from broker.view_topics.view_slices import SLICE_UNITS
from broker.view_topics.view_source import SETTLED_MS
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import check_crc, iter_batches, read_batch_header
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import (
    batch,
    create,
    fetch,
    fetched,
    fetching,
    offset_of,
    producing,
    records_of,
    send,
    values,
)
from tests.broker.views import counters, make_view, named_client, read_all
from wal.memory_faults import failing

COLUMNS = "id bigint, delay int, carrier varchar(8)"


def flight(number: int, delay: int = 0, **more: Any) -> bytes:
    return json.dumps({"id": number, "delay": delay, **more}).encode()


def late_flights(gateway: Gateway) -> Client:
    """Return a named client of a gateway with the topic `flights` and the view `late` over it."""
    client = named_client(gateway)
    create(client, "flights", kawal_columns=COLUMNS)
    create(client, "late", partitions=-1, kawal_sql="SELECT id FROM flights WHERE delay > 15")
    return client


def test_a_view_shows_the_columns_it_selects_of_the_records_that_match() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    send(client, "flights", batch(flight(0), flight(1, 20), flight(2, 15), flight(3, 16)))
    data = fetch(client, "late")
    assert [(record.offset, record.value) for record in records_of(data.records)] == [
        (1, b'{"id":1}'),
        (3, b'{"id":3}'),
    ]
    assert (data.log_start_offset, data.high_watermark, data.last_stable_offset) == (0, 4, 4)


def test_keys_timestamps_and_headers_are_those_of_the_source() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    headers = (("a", b"1"), ("a", None))
    records = [
        Record(0, START_MS, b"k", flight(0)),
        Record(1, START_MS + 5, b"k1", flight(1, 20), headers),
        Record(2, START_MS + 3, None, flight(2, 20)),
    ]
    send(client, "flights", encode_batch(records))
    shown = list(records_of(fetch(client, "late").records))
    assert [(record.offset, record.timestamp_ms, record.key, record.headers) for record in shown] == [
        (1, START_MS + 5, b"k1", headers),
        (2, START_MS + 3, None, ()),
    ]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_sources_of_every_codec_are_read(codec: int) -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    send(client, "flights", batch(*(flight(number, number) for number in range(30)), codec=codec))
    assert values(fetch(client, "late").records) == [b'{"id":%d}' % number for number in range(16, 30)]


def test_a_reader_is_moved_over_the_end_that_is_left_out_by_the_last_batch() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    send(client, "flights", batch(flight(0, 20)))
    for number in range(1, 6):
        send(client, "flights", batch(flight(number)))
    (stretched,) = iter_batches(fetch(client, "late").records)
    header = read_batch_header(stretched)
    assert (header.base_offset, header.last_offset, header.record_count) == (0, 5, 1)


def test_where_nothing_matches_one_empty_batch_ends_at_the_end() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    for number in range(6):
        send(client, "flights", batch(flight(number)))
    (empty,) = iter_batches(fetch(client, "late", offset=2).records)
    header = read_batch_header(empty)
    assert (header.base_offset, header.last_offset, header.record_count) == (2, 5, 0)
    assert not fetch(client, "late", offset=6).records


def test_clients_that_take_no_empty_batch_get_none_and_cost_nothing_again() -> None:
    gateway = Gateway()
    late_flights(gateway)
    client = gateway.client()
    for number in range(6):
        send(client, "flights", batch(flight(number)))
    for _ in range(3):
        data = fetch(client, "late", version=10)
        assert (data.error_code, data.high_watermark, bytes(data.records or b"")) == (0, 6, b"")
    assert counters(gateway) == (6, 0, 0)


def test_a_reader_behind_the_last_record_of_a_batch_goes_on_with_the_next() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    send(client, "flights", batch(flight(0, 20), flight(1), flight(2)))
    send(client, "flights", batch(flight(3, 20)))
    assert values(fetch(client, "late", offset=1).records) == [b'{"id":3}']


def test_many_readers_cost_one_evaluation() -> None:
    gateway = Gateway()
    late_flights(gateway)
    send(gateway.client(), "flights", batch(*(flight(number, number) for number in range(100))))
    for _ in range(5):
        assert len(values(fetch(gateway.client(), "late").records)) == 84
    assert counters(gateway) == (100, 84, 0)


def test_records_that_do_not_fit_are_counted_and_left_out() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    send(client, "flights", batch(b"no JSON", b'{"delay":"x"}', flight(2, 20), b"", b'{"delay":1e99}'))
    assert values(fetch(client, "late").records) == [b'{"id":2}']
    assert counters(gateway) == (5, 1, 4)


def test_who_waits_is_woken_by_what_matches_and_by_nothing_else() -> None:
    gateway = Gateway()
    producer, client = late_flights(gateway), named_client(gateway)
    client.send(fetching({("late", 0): 0}, max_wait_ms=1_000), 12)
    send(producer, "flights", batch(flight(0), flight(1)))
    assert client.answers() == []
    send(producer, "flights", batch(flight(2, 20)))
    (answer,) = client.answers()
    assert values(fetched(answer)["late", 0].records) == [b'{"id":2}']
    assert counters(gateway) == (3, 1, 0)


def test_waiting_for_many_bytes_counts_those_that_are_shown() -> None:
    gateway = Gateway()
    producer, client = late_flights(gateway), named_client(gateway)
    client.send(fetching({("late", 0): 0}, max_wait_ms=1_000, min_bytes=150), 12)
    send(producer, "flights", batch(*(flight(number, carrier="x" * 8) for number in range(50))))
    send(producer, "flights", batch(flight(50, 20)))
    assert client.answers() == []
    send(producer, "flights", batch(flight(51, 20)))
    (answer,) = client.answers()
    assert values(fetched(answer)["late", 0].records) == [b'{"id":50}', b'{"id":51}']


def test_at_the_end_of_the_wait_the_reader_learns_how_far_it_came() -> None:
    gateway = Gateway()
    producer, client = late_flights(gateway), named_client(gateway)
    client.send(fetching({("late", 0): 0}, max_wait_ms=1_000), 12)
    send(producer, "flights", batch(flight(0), flight(1)))
    gateway.advance(999)
    assert client.answers() == []
    gateway.advance(1)
    (answer,) = client.answers()
    data = fetched(answer)["late", 0]
    assert read_batch_header(data.records).last_offset == 1
    assert data.high_watermark == 2


def test_old_news_is_told_at_once_and_fresh_news_after_the_wait() -> None:
    gateway = Gateway()
    producer, client = late_flights(gateway), named_client(gateway)
    fetch(client, "late")  # the view is open from here on
    send(producer, "flights", batch(flight(0)))
    client.send(fetching({("late", 0): 0}, max_wait_ms=10_000), 12)
    gateway.settle()
    assert client.answers() == []
    client.close()
    gateway.now_ms += SETTLED_MS
    client = named_client(gateway)
    client.send(fetching({("late", 0): 0}, max_wait_ms=10_000), 12)
    gateway.settle()
    assert len(client.answers()) == 1


def test_clients_that_may_stay_where_they_were_wait_for_old_news_too() -> None:
    gateway = Gateway()
    producer, client = late_flights(gateway), gateway.client()
    send(producer, "flights", batch(flight(0)))
    gateway.now_ms += SETTLED_MS
    client.send(fetching({("late", 0): 0}, max_wait_ms=10_000), 11)
    gateway.settle()
    assert client.answers() == []


def test_a_long_scan_is_cut_into_slices_and_answered_with_its_progress() -> None:
    gateway = Gateway()
    producer, client = late_flights(gateway), named_client(gateway)
    many = batch(*(b'{"delay":0}' for _ in range(SLICE_UNITS)))
    for _ in range(FETCH_SLICES + 10):
        send(producer, "flights", many)
    client.send(fetching({("late", 0): 0}, max_wait_ms=10_000), 12)
    turns = 0
    while gateway.broker.scheduler.pending:
        turns += 1
        gateway.broker.scheduler.run()
    assert turns >= FETCH_SLICES - 1
    (answer,) = client.answers()
    header = read_batch_header(fetched(answer)["late", 0].records)
    assert header.record_count == 0
    assert 0 < header.last_offset + 1 < (FETCH_SLICES + 10) * SLICE_UNITS, header
    assert header.last_offset + 1 >= FETCH_SLICES * SLICE_UNITS // 2


def test_offsets_outside_are_out_of_range() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    send(client, "flights", batch(flight(0), flight(1)))
    gateway.partition("flights").vnode.log.set_log_start(gateway.partition("flights").stream_id, 1)
    gateway.settle()
    assert [fetch(client, "late", offset=offset).error_code for offset in (0, 1, 2, 3)] == [
        ErrorCode.OFFSET_OUT_OF_RANGE, 0, 0, ErrorCode.OFFSET_OUT_OF_RANGE,
    ]  # fmt: skip


def test_offsets_by_time_are_those_of_the_source() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    for number in range(3):
        send(client, "flights", batch(flight(number), timestamp_ms=START_MS + 10 * number))
    asked = (-1, -2, -3, START_MS + 5, START_MS + 99)
    assert [offset_of(client, "late", at).offset for at in asked] == [3, 0, 2, 1, -1]


def test_only_whole_batches_that_fit_are_given_and_always_one() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    for number in range(4):
        send(client, "flights", batch(flight(number, 20)))
    asked = fetching({("late", 0): 0}, partition_max_bytes=1)
    assert values(fetched(client.call(asked, 12))["late", 0].records) == [b'{"id":0}']
    size_bytes = len(fetch(client, "late", offset=3).records)
    asked = fetching({("late", 0): 0}, partition_max_bytes=2 * size_bytes + 1)
    assert values(fetched(client.call(asked, 12))["late", 0].records) == [b'{"id":0}', b'{"id":1}']


def test_a_stable_view_hands_out_batches_as_they_are_stored() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    create(client, "all", partitions=-1, kawal_sql="STABLE flights")
    send(client, "flights", batch(flight(0), b"no JSON", codec=Codec.ZSTD, key=b"k"))
    assert bytes(fetch(client, "all").records) == bytes(fetch(client, "flights").records)
    assert counters(gateway, "all") == (0, 0, 0)


def test_batches_handed_out_together_as_they_are_stored_stay_whole() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    create(client, "all", partitions=-1, kawal_sql="STABLE flights")
    for number in range(3):
        client.send(producing(("flights", 0, batch(flight(number)))), 9)
    gateway.settle()
    client.answers()
    shown = list(iter_batches(fetch(client, "all").records))
    assert [read_batch_header(stored).last_offset for stored in shown] == [0, 1, 2]
    assert all(check_crc(stored) for stored in shown)


def test_who_waits_for_a_view_of_everything_is_woken_by_everything() -> None:
    gateway = Gateway()
    producer, client = late_flights(gateway), named_client(gateway)
    create(producer, "all", partitions=-1, kawal_sql="STABLE flights")
    client.send(fetching({("all", 0): 0}, max_wait_ms=1_000), 12)
    send(producer, "flights", batch(b"x"))
    (answer,) = client.answers()
    assert values(fetched(answer)["all", 0].records) == [b"x"]


def test_times_pass_over_what_is_too_old_without_reading_it() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    create(client, "new", partitions=-1, kawal_sql=f"SELECT * FROM flights WHERE _rowts >= {START_MS + 50}")
    for number in range(10):
        send(client, "flights", batch(flight(number), timestamp_ms=START_MS + 10 * number))
    shown = [record.offset for record in records_of(fetch(client, "new").records)]
    assert shown == [5, 6, 7, 8, 9]
    assert counters(gateway, "new") == (5, 5, 0)


def test_tags_are_learned_from_the_begin_whoever_reads_from_where() -> None:
    gateway = Gateway()
    client = named_client(gateway)
    create(client, "meters", kawal_columns="v int, city varchar(20) tag")
    create(client, "porto", partitions=-1, kawal_sql="STABLE meters WHERE city = 'Porto'")
    send(client, "meters", batch(b'{"v":1,"city":"Porto"}', key=b"m1"))
    send(client, "meters", batch(b'{"v":1,"city":"Faro"}', key=b"m2"))
    send(client, "meters", batch(b'{"v":2}', key=b"m2"))
    send(client, "meters", batch(b'{"v":2}', key=b"m1"))
    assert values(fetch(client, "porto", offset=2).records) == [b'{"v":2}']
    assert values(fetch(client, "porto").records) == [b'{"v":1,"city":"Porto"}', b'{"v":2}']


def test_a_view_outlives_restarts_and_crashes_with_its_schema() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    send(client, "flights", batch(flight(0, 20), flight(1)))
    for again in (gateway.restart, gateway.crash):
        again()
        client = named_client(gateway)
        assert values(fetch(client, "late").records) == [b'{"id":0}']


def test_a_view_that_is_gone_keeps_nothing() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    send(client, "flights", batch(flight(0, 20), flight(1)))
    fetch(client, "late")
    view = gateway.partition("late")
    assert isinstance(view, QueryPartition)
    assert gateway.broker.views.budget.used_bytes > 0
    gateway.broker.delete_topic(gateway.broker.find_topic("late"), gateway.now_ms)
    gateway.settle()
    assert gateway.broker.views.budget.used_bytes == 0
    assert fetch(client, "late").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_view_whose_deletion_was_lost_is_read_on() -> None:
    gateway = Gateway()
    client = late_flights(gateway)
    send(client, "flights", batch(flight(0, 20)))
    fetch(client, "late")
    reader = named_client(gateway)
    reader.send(fetching({("late", 0): 1}, max_wait_ms=60_000), 12)
    gateway.disk.faults.append(failing("sync", errno.EIO))
    gateway.broker.delete_topic(gateway.broker.find_topic("late"), gateway.now_ms)
    gateway.settle()
    gateway.disk.faults.clear()
    gateway.advance(10_000)
    reader.answers()
    reader.send(fetching({("late", 0): 1}, max_wait_ms=60_000), 12)
    send(client, "flights", batch(flight(1, 30)))
    (answer,) = reader.answers()
    assert values(fetched(answer)["late", 0].records) == [b'{"id":1}']


def test_patterns_that_may_take_long_are_looked_for_in_a_thread() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t", kawal_columns="id bigint, text string, room string tag")
    condition = "text MATCH '[ab]*a[ab]{900}c' OR id = 1"
    make_view(client, "hard", f"SELECT id, room FROM t WHERE {condition}")
    values = [b'{"id":%d,"text":"%s","room":"r%d"}' % (number, b"ab" * 2_000, number) for number in range(3)]
    send(client, "t", batch(*values, key=b"k"))
    offloaded: list[object] = []

    def offload(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        offloaded.append(work)
        run_here(work, done)

    gateway.broker.scheduler.offload = offload
    assert [record.value for record in read_all(client, "hard")] == [b'{"id":1,"room":"r1"}']
    assert len(offloaded) >= 3, "a record at a time"

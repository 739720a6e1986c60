"""Filtering a batch: offsets, headers and bytes of the result, and the fate of what does not fit."""

from __future__ import annotations

import json
import platform
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from protocol.compression import Codec
from protocol.errors import Malformed
from protocol.record_reader import Record
from protocol.record_writer import empty_batch, encode_batch, transaction_marker_batch
from protocol.records import check_crc, read_batch_header, renew_crc
from tests.views.rows import encoded, finished, make_view, records, run, survivors, values
from views.filtering import Limits, filter_batch, filter_steps

HIGH = make_view("SELECT * FROM meters WHERE voltage > 222")
ALL = make_view("SELECT * FROM meters")
NAMES = make_view("SELECT voltage AS v, location FROM meters WHERE voltage > 222")


def voltages(*numbers: Any) -> list[Record]:
    return records(*({"voltage": number, "location": "x"} for number in numbers))


@pytest.mark.parametrize("codec", list(Codec))
def test_survivors_keep_offset_timestamp_key_headers_and_bytes(codec: Codec) -> None:
    given = [
        Record(7 + at, 5_000 - at, None if at == 2 else b"k%d" % at, encoded({"voltage": 220 + at}), headers)
        for at, headers in enumerate([(), (), (("h", b"1"), ("h", None)), (("é", b""),), ()])
    ]
    filtered = run(HIGH, given, codec=codec, last_offset=30)
    assert survivors(filtered) == given[3:]
    assert (filtered.scanned, filtered.matched, filtered.unfit, filtered.last_offset) == (5, 2, 0, 30)


@pytest.mark.parametrize("codec", list(Codec))
def test_projected_records_keep_everything_but_their_value(codec: Codec) -> None:
    given = [
        Record(7, -1, b"a", encoded({"voltage": 223, "location": "x"}), (("h", b"1"),)),
        Record(900, 2**40, None, encoded({"voltage": 1})),
        Record(70_000, 2**41, b"", encoded({"voltage": 300, "other": "y" * 20_000}), (("n", None),)),
    ]
    filtered = filter_batch(NAMES, memoryview(encode_batch(given)), codec=codec)
    assert survivors(filtered) == [
        given[0]._replace(value=b'{"v":223,"location":"x"}'),
        given[2]._replace(value=b'{"v":300,"location":null}'),
    ]
    assert filtered.batch is not None
    assert read_batch_header(filtered.batch).codec == codec


def test_the_batch_spans_what_was_left_out_and_belongs_to_nobody() -> None:
    given = voltages(1, 223, 2)
    source = encode_batch(
        given,
        base_offset=0,
        last_offset=9,
        leader_epoch=3,
        producer_id=4,
        producer_epoch=5,
        base_sequence=6,
        transactional=True,
    )
    batch = filter_batch(HIGH, memoryview(source)).batch
    assert batch is not None
    header = read_batch_header(batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (0, 9, 1)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert not header.is_transactional
    assert header.leader_epoch == 3
    assert header.max_timestamp == 1_001


@pytest.mark.parametrize(("base", "delta"), [(-(2**63), -1), (2**63 - 1, 1)])
def test_times_beyond_64_bits_end_at_the_last_that_there_is(base: int, delta: int) -> None:
    source = encode_batch([Record(0, 0, b"d1", b'{"voltage": 300}'), Record(1, delta, b"d1", b"{}")])
    # The first record is left out: that the others are newer, or older, is in their deltas.
    struct.pack_into(">q", source, 27, base)
    renew_crc(source)
    batch = filter_batch(make_view("SELECT * FROM t WHERE _offset > 0", None), memoryview(source)).batch
    assert batch is not None
    assert read_batch_header(batch).max_timestamp == base


def test_append_time_counts_for_all_survivors() -> None:
    filtered = run(HIGH, voltages(1, 223), append_time_ms=77)
    assert [record.timestamp_ms for record in survivors(filtered)] == [77]


def test_a_view_of_everything_hands_on_the_compressed_bytes() -> None:
    source = encode_batch(
        voltages(1, 2), codec=Codec.ZSTD, producer_id=9, producer_epoch=0, transactional=True
    )
    filtered = filter_batch(ALL, memoryview(source))
    assert filtered.batch is not None
    assert filtered.batch[61:] == source[61:]
    assert check_crc(filtered.batch)
    header = read_batch_header(filtered.batch)
    assert (header.producer_id, header.is_transactional, header.codec) == (-1, False, Codec.ZSTD)
    assert (filtered.scanned, filtered.matched) == (2, 2)


def test_nothing_matched_is_no_batch_but_its_last_offset() -> None:
    filtered = run(HIGH, voltages(1, 2, 3), last_offset=12)
    assert (filtered.batch, filtered.scanned, filtered.last_offset) == (None, 3, 12)


@pytest.mark.parametrize(
    "source",
    [
        empty_batch(5, 9),
        transaction_marker_batch(
            commit=True, offset=9, timestamp_ms=1, producer_id=1, producer_epoch=0, coordinator_epoch=0
        ),
    ],
    ids=["empty", "control"],
)
def test_batches_without_records_of_producers_give_nothing(source: bytearray) -> None:
    filtered = filter_batch(ALL, memoryview(source))
    assert (filtered.batch, filtered.scanned, filtered.last_offset) == (None, 0, 9)


UNFIT = {
    "not JSON": b"voltage=3",
    "cut": b'{"voltage": 3',
    "text after it": b'{"voltage": 300} x',
    "no bytes": b"",
    "an array": b"[300]",
    "null": b"null",
    "NaN": b'{"voltage": NaN}',
    "infinite": b'{"current": 1e999, "voltage": 300}',
    "text for a number": b'{"voltage": "300"}',
    "a fraction for an int": b'{"voltage": 300.5}',
    "larger than the type": b'{"voltage": 3000000000}',
    "larger than any type": b'{"voltage": ' + b"9" * 5_000 + b"}",
    "an object for a number": b'{"voltage": {}}',
    "bad UTF-8 in a text": b'{"voltage": 300, "location": "\xff"}',
    "half a surrogate": b'{"voltage": 300, "location": "\\ud800"}',
    "bad timestamp": b'{"voltage": 300, "ts": "yesterday"}',
    "deeply nested": b'{"voltage": 300, "payload": ' + b"[" * 200_000 + b"}",
    "deeply nested where nothing is read": b'{"voltage": 300, "other": ' + b'{"a":' * 200_000 + b"}",
}


@pytest.mark.parametrize("padding", [0, 3_000])
@pytest.mark.parametrize("value", UNFIT.values(), ids=UNFIT.keys())
def test_a_value_that_does_not_fit_is_counted_and_does_not_match(value: bytes, padding: int) -> None:
    # Small and large values are read in different ways.
    view = make_view("SELECT ts, current, voltage, location, payload FROM t WHERE voltage > 222")
    others = ({"voltage": number, "padding": "x" * padding} for number in (299, 300))
    filtered = run(view, records(next(others), value, next(others)))
    assert [row["voltage"] for row in values(filtered)] == [299, 300]
    assert (filtered.matched, filtered.unfit) == (2, 1)


def test_what_the_view_does_not_read_may_be_of_any_type() -> None:
    assert run(HIGH, records({"voltage": 300, "current": "much", "ts": []})).matched == 1


def test_a_member_named_twice_counts_with_its_last_value() -> None:
    assert (
        run(HIGH, records(b'{"voltage": 1, "voltage": 300}', b'{"voltage": 300, "voltage": 1}')).matched == 1
    )


def test_a_null_value_is_a_row_of_nulls() -> None:
    filtered = run(
        make_view("SELECT voltage, _key FROM t WHERE voltage IS NULL"), records(None, {"voltage": 1})
    )
    assert values(filtered) == [{"voltage": None, "_key": "d1"}]
    assert filtered.unfit == 0


def test_a_tombstone_passes_a_view_of_all_columns_as_it_is() -> None:
    filtered = run(make_view("SELECT * FROM t WHERE _key = 'd1'"), records(None))
    assert survivors(filtered) == records(None)


def damaged(position: int, byte: int) -> memoryview:
    source = encode_batch(voltages(300, 300, 300))
    source[position] = byte
    renew_crc(source)
    return memoryview(source)


@pytest.mark.parametrize("position", range(61, 61 + 50))
@pytest.mark.parametrize("byte", [0, 1, 127, 128, 255])
def test_damaged_records_never_raise_and_are_unfit_or_read(position: int, byte: int) -> None:
    for view in (HIGH, NAMES):
        filtered = filter_batch(view, damaged(position, byte))
        assert filtered.scanned == 3
        assert 0 <= filtered.matched + filtered.unfit <= 3
        assert filtered.last_offset == 2


def test_a_batch_that_says_a_wrong_count_is_unfit() -> None:
    source = encode_batch(voltages(300, 300))
    struct.pack_into(">i", source, 57, 3)
    assert filter_batch(HIGH, memoryview(source)).unfit == 3


def test_a_batch_that_does_not_decompress_is_unfit() -> None:
    source = encode_batch(voltages(300, 300), codec=Codec.ZSTD)
    source[70] ^= 0xFF
    filtered = filter_batch(HIGH, memoryview(source))
    assert (filtered.batch, filtered.unfit) == (None, 2)


def test_a_batch_that_expands_beyond_the_limit_is_unfit() -> None:
    source = encode_batch(voltages(*[300] * 1_000), codec=Codec.ZSTD)
    filtered = filter_batch(HIGH, memoryview(source), limits=Limits(decompressed_bytes_max=1_000))
    assert (filtered.batch, filtered.unfit) == (None, 1_000)


def test_values_that_grow_beyond_the_limits_are_unfit() -> None:
    view = make_view("SELECT REPEAT(location, 1000) AS x FROM t")
    source = memoryview(encode_batch(records({"location": "a" * 10}, {"location": "a"}, {"location": "a"})))
    filtered = filter_batch(view, source, limits=Limits(value_bytes_max=2_000))
    assert (filtered.matched, filtered.unfit) == (2, 1)
    filtered = filter_batch(view, source, limits=Limits(output_bytes_max=1_500, value_bytes_max=1_200))
    assert (filtered.matched, filtered.unfit) == (1, 2)


def test_a_record_too_large_for_what_the_statement_does_to_its_texts_is_unfit() -> None:
    columns = ", ".join(f"UPPER(location) AS c{number}" for number in range(250))
    view = make_view(f"SELECT {columns} FROM t")
    assert view.record_bytes_max == (16 << 20) // 500
    filtered = run(view, records({"location": "a" * 35_000}, {"location": "b"}))
    assert (filtered.matched, filtered.unfit) == (1, 1)


def test_a_record_with_more_headers_than_anyone_needs_is_unfit() -> None:
    given = [
        Record(0, 0, None, b"{}", (("h", b""),) * 10_001),
        Record(1, 0, None, b"{}", (("h", b""),) * 10_000),
    ]
    filtered = run(make_view("SELECT header('h') AS h FROM t"), given)
    assert (filtered.matched, filtered.unfit) == (1, 1)
    assert run(make_view("SELECT voltage FROM t"), given).unfit == 0


def test_cut_batches_are_refused() -> None:
    source = encode_batch(voltages(300))
    for size in (0, 60, len(source) - 1):
        with pytest.raises(Malformed):
            filter_batch(HIGH, memoryview(source)[:size])


def test_a_long_batch_is_filtered_in_slices_with_the_same_result() -> None:
    given = voltages(*range(200, 250))
    source = memoryview(encode_batch(given))
    for view in (HIGH, NAMES):
        result, pauses = finished(filter_steps(view, source, limits=Limits(slice_records=7)))
        assert result == filter_batch(view, source)
        assert pauses == 8


def test_slices_are_as_long_as_a_clock_says() -> None:
    """A record that takes long makes them small; records that take no time make them large again."""
    costs_ns = [1_000_000] * 40 + [100] * 400
    evaluator, done, now = make_view("SELECT voltage FROM t"), [0], [0]
    sizes: list[int] = []

    def scan(state: Any, count: int) -> None:
        now[0] += sum(costs_ns[done[0] : done[0] + count])
        done[0] += count
        sizes.append(count)
        assert evaluator.scan is not None
        evaluator.scan(state, count)

    slow = replace(evaluator, scan=scan, first_records=16)
    limits = Limits(slice_ns=4_000_000, clock_ns=lambda: now[0])
    source = memoryview(encode_batch(voltages(*range(440))))
    result, pauses = finished(filter_steps(slow, source, limits=limits))
    assert pauses
    assert result == filter_batch(evaluator, source)
    assert sizes[:3] == [16, 2, 2]
    assert max(sizes[1:12]) <= 8
    assert max(sizes) > 50


def test_the_first_slice_is_shorter_the_more_there_is_to_evaluate() -> None:
    first = [
        make_view(f"SELECT {', '.join(f'voltage + {n} AS c{n}' for n in range(many))} FROM t").first_records
        for many in (1, 10, 200)
    ]
    assert first == [333, 33, 1]
    assert make_view("SELECT LENGTH(REPEAT(location, 3000)) AS n FROM t").first_records == 8


PAGE_FAULTS = """
import resource
from protocol.compression import Codec
from protocol.record_writer import encode_batch
from tests.views.rows import make_view, records
from views.filtering import filter_batch
view = make_view("SELECT n FROM t WHERE n > 5", "n int")
batch = memoryview(encode_batch(records(*[{"n": 1, "s": "x" * 1_000}] * 1_000), codec=Codec.LZ4))
filter_batch(view, batch)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    filter_batch(view, batch)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_memory_of_large_batches_is_not_asked_for_again_and_again() -> None:
    # In a process of its own: memory that other tests allocated in this one would count, too.
    found = subprocess.run(
        [sys.executable, "-c", PAGE_FAULTS],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
        text=True,
    )
    # 460 pages for each batch if glibc has not learnt the size.
    assert int(found.stdout) < 20 * 100 or platform.libc_ver()[0] != "glibc"


def test_a_header_that_was_read_is_not_read_again() -> None:
    source = memoryview(encode_batch(voltages(1, 300)))
    elsewhere = read_batch_header(source)._replace(base_offset=70)
    result, _ = finished(filter_steps(HIGH, source, header=elsewhere))
    assert result.last_offset == 71


def test_members_may_have_any_name() -> None:
    view = make_view('SELECT CONCAT(location, "x"), voltage AS `a"b\\c\n😀`, payload FROM t')
    [row] = values(run(view, records({"location": "é", "voltage": 1, "payload": [1]})))
    assert list(row.items()) == [('CONCAT(location, "x")', "éx"), ('a"b\\c\n😀', 1), ("payload", [1])]


@pytest.mark.parametrize("padding", [0, 3_000])
def test_the_row_is_one_object_in_the_order_of_the_statement(padding: int) -> None:
    view = make_view("SELECT location, voltage, ts, live, payload, current FROM t")
    row = {
        "padding": "x" * padding,
        "payload": {"b": [1, {"a": None}]},
        "ts": 5,
        "voltage": 1,
        "current": 2.5,
        "live": True,
        "location": "é\n",
    }
    [record] = survivors(run(view, records(row)))
    assert record.value is not None
    assert list(json.loads(record.value)) == ["location", "voltage", "ts", "live", "payload", "current"]
    assert json.loads(record.value) == {name: row[name] for name in row if name != "padding"}


def test_a_record_too_large_for_the_patterns_of_a_statement_is_unfit() -> None:
    """They would take seconds: at worst 8 ns for each step of their programs at each character."""
    view = make_view("SELECT location FROM t WHERE location MATCH '[ab]*a[ab]{900}c'")
    assert view.record_bytes_max < 40_000
    filtered = run(view, records({"location": "ab" * 20_000}, {"location": "a" * 901 + "c"}))
    assert (filtered.matched, filtered.unfit) == (1, 1)
    assert make_view("SELECT location FROM t WHERE location MATCH 'a.*b'").record_bytes_max > 1_000_000


def test_only_large_batches_or_large_patterns_may_be_slow() -> None:
    plain = make_view("SELECT location FROM t WHERE location MATCH 'a.*b'")
    assert not plain.may_be_slow(16_000)
    assert plain.may_be_slow(16 << 20)
    assert make_view("SELECT location FROM t WHERE location MATCH '[ab]*a[ab]{900}c'").may_be_slow(2_000)
    assert not make_view("SELECT location FROM t WHERE location LIKE '%a%b%'").may_be_slow(16 << 20)

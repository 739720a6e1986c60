"""Records that do not fit come out byte for byte with a reason: exactly those that queries call unfit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.compression import Codec
from protocol.errors import Malformed
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch, transaction_marker_batch
from protocol.records import HEADER_BYTES, read_batch_header, renew_crc
from tests.views.rows import UNHURRIED, make_view, records, survivors
from views import unfit
from views.filtering import Filtered, Limits, filter_batch
from views.unfit import UNFIT_HEADER, unfit_batch
from views.unfit_reasons import UNEXPLAINED

COLUMNS = "n int, s varchar(5), t timestamp, j json, city varchar(4) tag, size tinyint tag"
UNFIT = make_view("UNFIT t", COLUMNS)
# Takes everything that fits, and reads all columns.
ALL = " AND ".join(f"({name} IS NULL OR {name} IS NOT NULL)" for name in ("n", "s", "t", "j", "city", "size"))
FIT = make_view(f"SELECT * FROM t WHERE {ALL}", COLUMNS)
MADE = make_view("SELECT n, s, t, j, city, size FROM t", COLUMNS)


def reasons(filtered: Filtered) -> dict[int, str]:
    """Return the reasons by offset."""
    return {record.offset: (record.headers[-1][1] or b"").decode() for record in survivors(filtered)}


def test_what_does_not_fit_is_as_it_was_with_one_header_more() -> None:
    headers = (("a", b"1"), ("kawal.unfit", b"mine"), ("a", None))
    given_records = [
        Record(7, 1_000, b"k", b'{"n":1}'),
        Record(9, 5_000_000, b"\xff", b'{"n":"x"}', headers),
        Record(300, 2, None, b"{no}", ()),
        Record(301, -1, b"", None, ()),
    ]
    batch = encode_batch(given_records, last_offset=400, leader_epoch=3)
    found = unfit_batch(UNFIT, memoryview(batch))
    assert (found.scanned, found.matched, found.unfit, found.last_offset) == (4, 2, 0, 400)
    assert survivors(found) == [
        given_records[1]._replace(headers=(*headers, (UNFIT_HEADER, b"n: expected int, got a string"))),
        given_records[2]._replace(
            headers=((UNFIT_HEADER, b"not JSON: object keys must be strings (byte 1)"),)
        ),
    ]
    assert found.batch is not None
    header = read_batch_header(found.batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (7, 400, 2)
    assert (header.max_timestamp, header.leader_epoch, header.producer_id) == (5_000_000, 3, -1)


def test_where_everything_fits_nothing_comes_out() -> None:
    found = unfit_batch(UNFIT, memoryview(encode_batch(records({"n": 1}, {}, None))))
    assert (found.batch, found.scanned, found.matched, found.unfit) == (None, 3, 0, 0)
    marker = transaction_marker_batch(
        commit=True, offset=3, timestamp_ms=0, producer_id=1, producer_epoch=0, coordinator_epoch=0
    )
    assert unfit_batch(UNFIT, memoryview(marker)).scanned == 0


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_batches_of_every_codec_are_looked_into(codec: int) -> None:
    batch = encode_batch(records(*({"n": n if n % 3 else "x"} for n in range(5_000))), codec=codec)
    found = unfit_batch(UNFIT, memoryview(batch))
    assert list(reasons(found)) == list(range(0, 5_000, 3))


def test_times_of_the_broker_stay() -> None:
    batch = encode_batch(records({"n": "x"}), append_time_ms=77)
    found = unfit_batch(UNFIT, memoryview(batch))
    assert [record.timestamp_ms for record in survivors(found)] == [77]


def test_only_the_columns_that_are_named_count() -> None:
    some = make_view("UNFIT t (S, city)", COLUMNS)
    batch = encode_batch(records({"n": "x"}, {"s": 5}, {"city": "London"}, {"size": 1_000}))
    assert list(reasons(unfit_batch(some, memoryview(batch)))) == [1, 2]


@pytest.mark.parametrize(
    ("where", "offsets"),
    [
        ("tbname = 'b'", [3]),
        ("_key IS NULL", [4]),
        ("header('h') = 'x'", [5]),
        ("_offset > 2 AND _rowts < 1005", [3, 4]),
        ("_partition = 2", []),
        ("_partition = 1", [1, 3, 4, 5]),
        ("FALSE", []),
        ("NULL", []),
    ],
)
def test_where_asks_of_what_does_not_fit(where: str, offsets: list[int]) -> None:
    view = make_view(f"UNFIT t WHERE {where}", COLUMNS)
    keys = (b"a", b"a", b"b", b"b", None, b"c")
    batch = [
        Record(at, 1_000 + at, key, b'{"n":1}' if at in (0, 2) else b"x", (("h", b"x"),) if at == 5 else ())
        for at, key in enumerate(keys)
    ]
    found = unfit_batch(view, memoryview(encode_batch(batch)), partition=1)
    assert (list(reasons(found)), found.matched) == (offsets, len(offsets))


def test_tags_in_headers_count_and_what_a_key_had_before_does_not() -> None:
    batch = [
        Record(0, 0, b"k", b'{"city":"Rome"}'),
        Record(1, 0, b"k", b"{}", (("kawal.tag.size", b"5"),)),
        Record(2, 0, b"k", None, (("kawal.tag.size", b"500"),)),
        Record(3, 0, b"k", b"{}"),
    ]
    found = unfit_batch(UNFIT, memoryview(encode_batch(batch)))
    assert reasons(found) == {2: "size: expected tinyint, got '500' in the header kawal.tag.size"}


def test_too_many_headers_for_tags_do_not_fit() -> None:
    many = tuple(("h", None) for _ in range(10_001))
    batch = encode_batch([Record(0, 0, b"k", b"{}", many), Record(1, 0, b"k", b"{}", many[:-1])])
    found = unfit_batch(UNFIT, memoryview(batch))
    assert found.matched == filter_batch(MADE, memoryview(batch)).unfit == 1
    assert reasons(found) == {0: "tags are looked for in 10000 headers at most, but the record has 10001"}
    without_tags = make_view("UNFIT t (n)", COLUMNS)
    assert unfit_batch(without_tags, memoryview(batch)).matched == 0


def test_a_record_beyond_what_is_looked_at_does_not_fit() -> None:
    value = b'{"s":"","o":"%s"}' % (b"x" * (17 << 20))
    batch = encode_batch([Record(0, 0, None, value), Record(1, 0, None, b"{}")])
    found = unfit_batch(UNFIT, memoryview(batch))
    assert reasons(found)[0].startswith("a record of 178")


def test_long_reasons_end_where_a_batch_has_enough_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfit, "SENTENCES_BYTES_MAX", 50)
    batch = encode_batch(records(*({"n": "x"} for _ in range(4))))
    found = unfit_batch(UNFIT, memoryview(batch))
    assert list(reasons(found).values()) == ["n: expected int, got a string"] * 2 + [UNEXPLAINED] * 2


def test_a_batch_that_cannot_be_opened_is_one_record_with_its_bytes() -> None:
    batch = encode_batch(records({"n": 1}, {"n": "x"}, {"n": 2}), codec=Codec.ZSTD)
    batch[HEADER_BYTES] ^= 0xFF
    renew_crc(batch)
    found = unfit_batch(UNFIT, memoryview(batch))
    assert (found.scanned, found.matched, found.unfit, found.last_offset) == (3, 1, 0, 2)
    (one,) = survivors(found)
    assert (one.offset, one.key, one.value) == (0, None, bytes(batch))
    assert reasons(found)[0].startswith("the batch of 3 records from offset 0 to 2 cannot be opened: ")
    assert found.batch is not None
    assert read_batch_header(found.batch).last_offset == 2
    few = unfit_batch(UNFIT, memoryview(batch), limits=Limits(value_bytes_max=50))
    assert [record.value for record in survivors(few)] == [None]
    of_a_key = make_view("UNFIT t WHERE tbname = 'd1'", COLUMNS)
    assert unfit_batch(of_a_key, memoryview(batch)).batch is None


def test_a_batch_that_expands_too_far_stays_closed() -> None:
    batch = encode_batch(records({"s": "x" * 10_000}), codec=Codec.ZSTD)
    limits = Limits(decompressed_bytes_max=1_000)
    assert filter_batch(MADE, memoryview(batch), limits=limits).unfit == 1
    (sentence,) = reasons(unfit_batch(UNFIT, memoryview(batch), limits=limits)).values()
    assert "cannot be opened" in sentence
    assert "1000" in sentence


def test_what_is_no_batch_is_malformed() -> None:
    with pytest.raises(Malformed):
        unfit_batch(UNFIT, memoryview(encode_batch(records({})))[:-1])


def test_slices_are_short_and_their_number_follows_what_does_not_fit() -> None:
    batch = memoryview(encode_batch(records(*({"n": "x"} for _ in range(4_000)))))
    steps = unfit.unfit_steps(UNFIT, batch)
    assert sum(1 for _ in steps) >= 4_000 // 250


ROWS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(-2, 2) | st.sampled_from(["text", 1.5, 2**31, None, [1]]),
        "s": st.text(max_size=7),
        "t": st.sampled_from([0, "2026-01-01", "never", 1.5, 2**70]),
        "j": st.sampled_from([None, [], {}, "x"]),
        "city": st.sampled_from(["Rome", "London", 5, None]),
        "size": st.integers(-300, 300),
        "other": st.sampled_from(["x" * 200, 1]),
    },
)
VALUES = st.none() | st.binary(max_size=6) | ROWS.map(lambda row: json.dumps(row).encode())
VALUES |= st.sampled_from([b'{"n":"x","n":1}', b'{"s":"\xff"}', b'{"\xff":1}', b'{"o":"\n"}', b"[]", b"{}x"])
VALUES |= st.sampled_from([b'{"n":1}\n', b" {}", b'{"o":%s%s}' % (b"[" * 60_000, b"]" * 60_000), b"null"])
HEADER_NAMES = st.sampled_from(["kawal.tag.size", "kawal.tag.city", "h"])
HEADERS = st.lists(st.tuples(HEADER_NAMES, st.sampled_from([b"5", b"Paris", None, b"\xff"])), max_size=2)


@st.composite
def batches(draw: st.DrawFn) -> list[Record]:
    offset, found = draw(st.integers(0, 2**40)), []
    for _ in range(draw(st.integers(1, 12))):
        key = draw(st.sampled_from([None, b"", b"k1", b"k2"]))
        found.append(Record(offset, draw(st.integers(-1, 2**45)), key, draw(VALUES), tuple(draw(HEADERS))))
        offset += draw(st.sampled_from([1, 1, 2, 64, 8_192]))
    return found


@UNHURRIED
@given(batches(), st.sampled_from([Codec.NONE, Codec.LZ4, Codec.ZSTD]))
def test_exactly_those_records_come_out_that_a_query_leaves_out_as_unfit(
    rows: list[Record], codec: int
) -> None:
    batch = memoryview(encode_batch(rows, codec=codec))
    fit = {record.offset for record in survivors(filter_batch(FIT, batch))}
    found = unfit_batch(UNFIT, batch)
    shown = survivors(found)
    assert [record._replace(headers=record.headers[:-1]) for record in shown] == [
        row for row in rows if row.offset not in fit
    ]
    assert found.matched == filter_batch(MADE, batch).unfit
    assert all(sentence and sentence != UNEXPLAINED for sentence in reasons(found).values())


@UNHURRIED
@given(batches(), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=3))
def test_of_a_damaged_batch_something_comes_out_whenever_a_query_leaves_something_out(
    rows: list[Record], damages: list[tuple[int, int]]
) -> None:
    batch = encode_batch(rows)
    for at, value in damages:
        batch[HEADER_BYTES + at % (len(batch) - HEADER_BYTES)] = value
    renew_crc(batch)
    left_out = filter_batch(MADE, memoryview(batch)).unfit
    found = unfit_batch(UNFIT, memoryview(batch))
    assert (found.batch is None) == (left_out == 0)
    assert found.matched in (left_out, 1)
    assert len(survivors(found)) == found.matched
    try:
        readable = len(list(iter_records(batch)))
    except Malformed:
        return
    assert found.scanned == readable

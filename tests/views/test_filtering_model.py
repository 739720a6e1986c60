"""filter_batch against the same view written in plain Python over decoded records."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocol.compression import Codec
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import read_batch_header
from tests.views.rows import UNHURRIED, make_view, survivors
from views.filtering import Limits, filter_batch

COLUMNS = "n int, s string"
KEPT = make_view("SELECT * FROM t WHERE n > 0 OR header('h') = 'x'", COLUMNS)
MADE = make_view(
    "SELECT n, s, _key, header('h') AS h, _offset, _rowts FROM t WHERE n > 0 OR header('h') = 'x'", COLUMNS
)

BYTES = st.binary(max_size=3) | st.integers(60, 300).map(lambda size: b"k" * size)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(-2, 2) | st.none() | st.just("text"),
        "s": st.text(max_size=5),
        "more": st.just([1]),
    },
)
VALUES = st.none() | st.binary(max_size=5) | ROWS.map(lambda row: json.dumps(row).encode())
VALUES |= st.integers(50, 9_000).map(lambda size: b'{"n":1,"s":"%s"}' % (b"y" * size))
HEADERS = st.lists(
    st.tuples(st.sampled_from(["h", "other"]), st.sampled_from([b"x", b"", None, b"\xff"])), max_size=3
)


@st.composite
def batches(draw: st.DrawFn) -> list[Record]:
    offset, found = draw(st.integers(0, 2**40)), []
    base = draw(st.integers(0, 2**45))
    for _ in range(draw(st.integers(1, 12))):
        time = base + draw(st.sampled_from([0, 1, 63, 64, -65, 8_191, 8_192, 2**20]) | st.integers(-1, 2**45))
        found.append(Record(offset, time, draw(st.none() | BYTES), draw(VALUES), tuple(draw(HEADERS))))
        offset += draw(st.sampled_from([1, 1, 2, 63, 64, 8_192, 10_000]))
    return found


def text(content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def row_of(record: Record) -> dict[str, Any] | None:
    """Return the view's row; {} when it does not match, None when the record does not fit."""
    try:
        value = {} if record.value is None else json.loads(record.value.decode())
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("n") == "text":
        return None
    n, header = value.get("n"), text(dict(record.headers).get("h"))
    if not ((n is not None and n > 0) or header == "x"):
        return {}
    key = text(record.key)
    return {
        "n": n,
        "s": value.get("s"),
        "_key": key,
        "h": header,
        "_offset": record.offset,
        "_rowts": record.timestamp_ms,
    }


@UNHURRIED
@given(
    batches(),
    st.sampled_from(list(Codec)),
    st.sampled_from(list(Codec)),
    st.integers(0, 9),
    st.booleans(),
    st.integers(1, 5),
)
def test_what_comes_out_is_what_plain_python_finds(
    given_records: list[Record], source: Codec, target: Codec, stretch: int, append_time: bool, step: int
) -> None:
    time = 5 if append_time else None
    last = given_records[-1].offset + stretch
    batch = encode_batch(given_records, codec=source, last_offset=last, append_time_ms=time)
    stamped = [record if time is None else record._replace(timestamp_ms=time) for record in given_records]
    rows = [(record, row_of(record)) for record in stamped]
    for view in (KEPT, MADE):
        found = filter_batch(view, memoryview(batch), codec=target, limits=Limits(slice_records=step))
        matching = [(record, row) for record, row in rows if row]
        assert (found.scanned, found.matched, found.last_offset) == (len(rows), len(matching), last)
        assert found.unfit == sum(row is None for _, row in rows)
        out = survivors(found)
        if view is KEPT:
            assert out == [record for record, _ in matching]
        else:
            assert [json.loads(record.value or b"") for record in out] == [row for _, row in matching]
            assert [record._replace(value=None) for record in out] == [
                record._replace(value=None) for record, _ in matching
            ]
        if found.batch is not None:
            header = read_batch_header(found.batch)
            assert (header.base_offset, header.last_offset) == (given_records[0].offset, last)
            assert header.max_timestamp == max(record.timestamp_ms for record in out)

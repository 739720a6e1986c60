"""The generated loops read what the plan needs and no more."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

import pytest

from protocol.record_reader import Headers, Record
from protocol.record_writer import encode_batch
from protocol.records import renew_crc
from tests.views.rows import encoded, make_plan, make_view, records, run, survivors, values
from views.code_compile import compile_function
from views.code_scan import row_scan_source, scan_source
from views.filtering import filter_batch

NEEDS = ["value", "key", "headers", "tags", "timestamp", "offset", "partition"]


BATCHES = partial(scan_source, record_bytes_max=1 << 24)


@pytest.mark.parametrize(("name", "write"), [("scan", BATCHES), ("scan_rows", row_scan_source)])
@pytest.mark.parametrize("filters", [True, False])
@pytest.mark.parametrize("projects", [True, False])
@pytest.mark.parametrize("need", [*NEEDS, None])
def test_every_loop_is_python(
    name: str, write: Callable[..., str], filters: bool, projects: bool, need: str | None
) -> None:
    needs = frozenset(NEEDS if need is None else [need])
    source = write(
        needs, loads=["a = 1"], decodes="value" in needs, filters=filters, projects=projects, framed=False
    )
    codes: dict[str, ast.expr] = {"PREDICATE": ast.Constant(True), "VALUE": ast.Constant(None)}
    assert compile_function(source, codes, {}, name).__name__ == name


def test_what_is_not_needed_is_not_decoded() -> None:
    source = BATCHES(frozenset({"key"}), loads=[], decodes=False, filters=True, projects=False, framed=False)
    assert "decode(" not in source
    assert "read_headers" not in source
    assert "rowts" not in source


@pytest.mark.parametrize("size", [0, 40, 63, 64, 100, 8_000, 8_191, 8_192, 20_000, 1_100_000])
def test_lengths_of_every_width_are_walked(size: int) -> None:
    given = records({"n": 1}, encoded({"n": 2, "s": "x" * size}), {"n": 3}, key=b"k" * (size % 9_000))
    for sql in ("SELECT n FROM t WHERE n <> 2", "SELECT n, _offset, _rowts, _key FROM t"):
        rows = values(run(make_view(sql, "n int"), given))
        assert [row["n"] for row in rows] == ([1, 3] if "<>" in sql else [1, 2, 3])
        if "_offset" in sql:
            assert [(row["_offset"], row["_rowts"]) for row in rows] == [(0, 1_000), (1, 1_001), (2, 1_002)]


# The ends of every width that a varint may have.
TIMES = [0, 1, 63, -64, 64, -65, 8_191, -8_192, 8_192, 2**20 - 1, -(2**20), 2**31, 2**62, -(2**60)]
GAPS = [0, 64, 8_192, 2**20, 2**27]


@pytest.mark.parametrize("value_bytes", [7, 55, 70, 9_000])
@pytest.mark.parametrize("key", [None, b"", b"k", b"k" * 63, b"k" * 64, b"k" * 9_000])
def test_heads_of_every_width_are_walked(key: bytes | None, value_bytes: int) -> None:
    value = b'{"n":1' + b" " * (value_bytes - 7) + b"}"
    given = [
        Record(5 + gap + at, 2**60 + time, key, value, (("h", b"x"),) * (at % 3 // 2))
        for gap in GAPS
        for at, time in enumerate(TIMES)
    ]
    assert survivors(run(make_view("SELECT * FROM t WHERE n > 0", "n int"), given)) == given
    made = run(make_view("SELECT n, _offset AS o, _rowts AS t, _key AS k FROM t WHERE n > 0", "n int"), given)
    text = None if key is None else key.decode()
    assert values(made) == [
        {"n": 1, "o": record.offset, "t": record.timestamp_ms, "k": text} for record in given
    ]
    assert [record._replace(value=value) for record in survivors(made)] == given


@pytest.mark.parametrize("headers", [(), (("h", b"x"),)])
@pytest.mark.parametrize("key", [None, b"k" * 63, b"k" * 900])
def test_new_values_of_every_length_are_written(key: bytes | None, headers: Headers) -> None:
    lengths = [8, 62, 63, 64, 65, 100, *range(940, 1_030), 8_190, 8_191, 8_192, 20_000]
    given = [
        Record(at, 1_000, key, b'{"t":1, "s":"%s"}' % (b"x" * (length - 8)), headers)
        for at, length in enumerate(lengths)
    ]
    made = survivors(run(make_view("SELECT s FROM t", "s string"), given))
    assert [len(record.value or b"") for record in made] == lengths
    assert [record._replace(value=None) for record in made] == [
        record._replace(value=None) for record in given
    ]


@pytest.mark.parametrize("count", [1, 2])
def test_the_smallest_record_of_all_ends_a_batch(count: int) -> None:
    given = [Record(at, 1_000, None, None) for at in range(count)]
    filtered = run(make_view("SELECT * FROM t WHERE n IS NULL", "n int"), given)
    assert survivors(filtered) == given


def test_a_count_of_headers_that_is_cut_is_not_handed_on() -> None:
    source = encode_batch(records({"n": 1}))
    source[-1] = 0x81
    renew_crc(source)
    filtered = filter_batch(make_view("SELECT n FROM t", "n int"), memoryview(source))
    assert values(filtered) == [{"n": 1}]


def test_offsets_and_times_that_lie_far_apart_are_walked() -> None:
    given = [
        record._replace(offset=at * 1_000_000, timestamp_ms=(-1) ** at * at * 10**12)
        for at, record in enumerate(records({}, {}, {}))
    ]
    rows = values(run(make_view("SELECT _offset AS o, _rowts AS t FROM t", "n int"), given))
    assert [(row["o"], row["t"]) for row in rows] == [
        (record.offset, record.timestamp_ms) for record in given
    ]
    assert make_plan("SELECT _offset FROM t").needs == {"offset"}


def test_members_whose_names_are_written_with_escapes_are_found() -> None:
    given = records(b'{"\\u006e":1,"\\u00e9":2}')
    assert values(run(make_view("SELECT n, `é` FROM t", "n int, `é` int"), given)) == [{"n": 1, "é": 2}]

"""A view over Arrow batches gives what it gives over record batches."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pyarrow
import pytest

from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.views.rows import encoded, make_plan, make_view, run, survivors
from views.arrow import evaluate, evaluate_counted
from views.errors import UnknownColumn
from views.evaluator import build_evaluator
from views.tags import TagTable
from views.unfit import unfit_batch

HEADERS = pyarrow.list_(pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())]))
GIVEN = [
    Record(10, 1_000, b"d1", encoded({"voltage": 220, "location": "north", "ts": 5})),
    Record(11, 1_001, b"d2", encoded({"voltage": 231}), (("h", b"1"), ("h", b"2"))),
    Record(13, 1_002, b"d1", encoded({"voltage": 232, "payload": [1]}), (("h", None),)),
    Record(14, 1_003, None, b"not JSON"),
    Record(15, 1_004, b"d1", None),
    Record(16, -1, b"\xff", encoded({"voltage": 229.5})),
]


def arrow_batch(given: list[Record], time: Any = None) -> pyarrow.RecordBatch:
    kind = pyarrow.timestamp("us", "UTC") if time is None else time
    ticks = {"s": 0.001, "ms": 1, "us": 1_000, "ns": 1_000_000}[getattr(kind, "unit", "ms")]
    columns = {
        "key": pyarrow.array([record.key for record in given], pyarrow.binary()),
        "value": pyarrow.array([record.value for record in given], pyarrow.binary()),
        "topic": pyarrow.array(["meters"] * len(given)),
        "partition": pyarrow.array([0] * len(given), pyarrow.int32()),
        "offset": pyarrow.array([record.offset for record in given], pyarrow.int64()),
        "timestamp": pyarrow.array(
            [int(record.timestamp_ms * ticks) for record in given], pyarrow.int64()
        ).cast(kind),
        "headers": pyarrow.array(
            [[{"key": key, "value": value} for key, value in record.headers] or None for record in given],
            HEADERS,
        ),
    }
    return pyarrow.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM m WHERE voltage > 222",
        "SELECT voltage, location, tbname, _rowts, _offset, _partition, header('h') AS h, payload, ts FROM m",
        "SELECT voltage * 2 AS v FROM m WHERE _rowts > 1000 AND _key IS NOT NULL",
        "STABLE m WHERE location = 'north'",
        "SELECT * FROM m",
        "SELECT * FROM m WHERE header('h') = '2'",
        "SELECT * FROM m WHERE voltage > 1000",
    ],
)
def test_rows_are_those_of_the_broker(sql: str) -> None:
    filtered = run(make_view(sql), GIVEN)
    result = evaluate_counted(make_plan(sql), arrow_batch(GIVEN))
    assert result.batch.schema == arrow_batch(GIVEN).schema
    got = [(row["offset"], row["key"], row["value"]) for row in result.batch.to_pylist()]
    assert got == [(record.offset, record.key, record.value) for record in survivors(filtered)]
    assert (result.scanned, result.unfit) == (6, filtered.unfit)


@pytest.mark.parametrize(
    "kind", [pyarrow.timestamp("ms"), pyarrow.timestamp("ns", "Europe/Berlin"), pyarrow.int64()], ids=str
)
def test_timestamps_of_any_unit_are_milliseconds(kind: Any) -> None:
    result = evaluate(make_plan("SELECT _rowts FROM m WHERE _offset = 11"), arrow_batch(GIVEN, kind))
    assert json.loads(result.column("value")[0].as_py()) == {"_rowts": 1_001}


def test_only_the_columns_that_the_view_reads_are_needed() -> None:
    batch = arrow_batch(GIVEN).select(["value"])
    assert evaluate(make_plan("SELECT voltage FROM m WHERE voltage > 222"), batch).num_rows == 2
    with pytest.raises(UnknownColumn, match="no column 'key', which the view reads"):
        evaluate(make_plan("SELECT tbname FROM m"), batch)


def test_text_columns_are_read_and_stay_text() -> None:
    batch = pyarrow.RecordBatch.from_pydict(
        {"value": pyarrow.array(['{"voltage": 300}', '{"voltage": 1}', None])}
    )
    result = evaluate(make_plan("SELECT voltage AS v FROM m WHERE voltage > 222"), batch)
    assert result.column("value").to_pylist() == ['{"v":300}']


def test_tags_are_kept_from_batch_to_batch_in_the_table_that_is_given() -> None:
    plan, tags = make_plan("SELECT location FROM m WHERE voltage IS NOT NULL"), TagTable()
    evaluate_counted(plan, arrow_batch(GIVEN[:1]), tags=tags)
    result = evaluate_counted(plan, arrow_batch(GIVEN[2:3]), tags=tags)
    assert result.batch.column("value").to_pylist() == [b'{"location":"north"}']


def test_arrow_is_not_imported_before_a_batch_is_evaluated() -> None:
    code = "import sys, views.arrow; print([name for name in ('pyarrow', 'numpy') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("where", ["", " WHERE tbname = 'd1' OR _rowts > 1005", " WHERE header('h') = '2'"])
def test_what_does_not_fit_is_taken_with_its_reason(where: str) -> None:
    columns = "voltage int, location string tag"
    given = [*GIVEN, Record(20, 1_006, b"d1", b"[]", (("h", b"2"),)), Record(21, 1_007, None, b"?")]
    plan = make_plan(f"UNFIT m{where}", columns)
    expected = survivors(unfit_batch(build_evaluator(plan), memoryview(encode_batch(given))))
    found = evaluate_counted(plan, arrow_batch(given))
    assert (found.scanned, found.unfit) == (len(given), 0)
    rows = found.batch.to_pylist()
    assert [(row["offset"], row["value"]) for row in rows] == [
        (record.offset, record.value) for record in expected
    ]
    assert [tuple((header["key"], header["value"]) for header in row["headers"]) for row in rows] == [
        record.headers for record in expected
    ]


def test_rows_without_headers_are_taken_without_their_reasons() -> None:
    given = arrow_batch(GIVEN).select(["value", "offset"])
    taken = evaluate(make_plan("UNFIT m", "voltage int"), given)
    assert taken.to_pylist() == [
        {"value": b"not JSON", "offset": 14},
        {"value": b'{"voltage": 229.5}', "offset": 16},
    ]

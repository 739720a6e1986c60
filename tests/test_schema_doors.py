"""Values at every door that judges them by declared columns: all take and refuse the same, for one reason.

The doors: Produce to a topic with kawal.schema.validation=columns, a query and the UNFIT view of the topic,
and the pipeline's reader of [schema], as its Spark workers run it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import pyarrow as pa
import pytest

from broker.storage.value_checks import ColumnsCheck
from pipeline.arrow_rows import FIELD, REASON, read_rows
from pipeline.columns import parse_columns
from pipeline.shape import Shape
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.views.rows import make_view, survivors
from views.filtering import filter_batch
from views.unfit import UNFIT_HEADER, unfit_batch

COLUMNS: Final = (
    "a bigint, n int, u tinyint unsigned, c double, b string, v varchar(3), i bool, d timestamp, j json"
)
QUERY: Final = make_view("SELECT a, n, u, c, b, v, i, d, j FROM t", COLUMNS)
UNFIT: Final = make_view("UNFIT t", COLUMNS)
TABLE: Final = Shape(
    mode="json",
    declared=parse_columns(COLUMNS),
    rescue="",
    key_as="binary",
    headers=False,
    prefix="",
    partition_by=(),
)

FITTING: Final = (
    b'{"a":9223372036854775807}',
    b'{"a":-0}',
    b'{"n":-2147483648}',
    b'{"u":255}',
    b'{"c":5}',
    b'{"c":123456789012345678901234567890}',
    b'{"c":1e-400}',
    b'{"c":1.' + b"1" * 5_000 + b"}",
    b'{"d":1000}',
    b'{"d":-1}',
    b'{"d":"2013-01-01"}',
    b'{"d":"2013-01-01T10:00"}',
    b'{"d":"2013-01-01T10:00:00.123456789Z"}',
    b'{"b":null}',
    b'{"b":"\\u0041\\ud83d\\ude00"}',
    b'{"b":"\\u0000"}',
    '{"v":"üüü"}'.encode(),
    b'{"v":"\\ud83d\\ude00\\ud83d\\ude00\\ud83d\\ude00"}',
    b'{"\\u0061":7}',
    b'{"A":"x"}',
    b'{"zz":1e400}',
    b'{"j":1e400}',
    b'{"j":' + b"[" * 500 + b"]" * 500 + b"}",
    b'{"a"\t:\r\n1} ',
    b"{}",
    None,
)

UNFITTING: Final = (
    (b'{"c":NaN}', "not JSON: invalid character (byte 5)"),
    (b'{"zz":NaN}', "not JSON: invalid character (byte 6)"),
    (b'{"c":Infinity}', "not JSON: invalid character (byte 5)"),
    (b'{"c":1e400}', "c: 1e400 is more than a double can be"),
    (b'{"c":"5"}', "c: expected double, got a string"),
    (b'{"a":"5"}', "a: expected bigint, got a string"),
    (b'{"a":5.0}', "a: expected bigint, got 5.0"),
    (b'{"a":5e0}', "a: expected bigint, got 5e0"),
    (b'{"a":1e400}', "a: expected bigint, got 1e400"),
    (b'{"a":true}', "a: expected bigint, got a boolean"),
    (b'{"a":{}}', "a: expected bigint, got an object"),
    (b'{"a":9223372036854775808}', "a: 9223372036854775808 is beyond bigint, which goes from"),
    (b'{"a":' + b"1" * 5_000 + b"}", "a: 1111111111"),
    (b'{"a":01}', "not JSON: invalid number (byte 6)"),
    (b'{"a":1,"a":"x"}', "a: expected bigint, got a string"),
    (b'{"a":"x","a":1}', "a: expected bigint, got a string"),
    (b'{"i":1}', "i: expected bool, got a number"),
    (b'{"i":"true"}', "i: expected bool, got a string"),
    (b'{"n":2147483648}', "n: 2147483648 is beyond int, which goes from"),
    (b'{"u":256}', "u: 256 is beyond tinyint unsigned, which goes from 0 to 255"),
    (b'{"u":-1}', "u: -1 is beyond tinyint unsigned"),
    (b'{"d":1000.0}', "d: expected timestamp(ms), got 1000.0"),
    (b'{"d":"1000"}', "d: '1000' is not a timestamp"),
    (b'{"d":""}', "d: '' is not a timestamp"),
    (b'{"d":"2013-02-30"}', "d: '2013-02-30' is not a timestamp"),
    (b'{"d":9223372036854775808}', "d: 9223372036854775808 is beyond timestamp(ms)"),
    (b'{"b":5}', "b: expected string, got a number"),
    (b'{"b":{"x":1}}', "b: expected string, got an object"),
    (b'{"b":"\\ud800"}', "not JSON: input data was truncated"),
    (b'{"zz":"\\ud800"}', "not JSON: input data was truncated"),
    (b'{"b":"\\udc00x"}', "not JSON: invalid utf-16 surrogate pair"),
    (b'{"b":"\xed\xa0\x80"}', "b: a string that is not UTF-8"),
    (b'{"b":"\xff"}', "b: a string that is not UTF-8"),
    (b'{"b":"a\nb"}', "not JSON: invalid character"),
    (b'{"v":"long"}', "v: a string of 4 characters is too long for varchar(3)"),
    (b'{"j":[1,}', "not JSON: invalid character"),
    (b'{"j":' + b"[" * 5_000 + b"]" * 5_000 + b"}", "nested too deeply"),
    (b'{"zz":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
    (b"[]", "expected an object, got an array"),
    (b"null", "expected an object, got null"),
    (b"5", "expected an object, got a number"),
    (b"", "not JSON: the value is empty"),
    (b'{"a":1}{"a":2}', "not JSON: trailing characters (byte "),
    (b'\xef\xbb\xbf{"a":1}', "not JSON: invalid character (byte 0)"),
    (b'{"a":1,}', "not JSON: trailing comma in object (byte 7)"),
    (b'{"a":1 /* c */}', "not JSON: expected ',' or '}'"),
)


class Judged(NamedTuple):
    """The verdicts on a value: None where it fits, else the reason; a query tells none, but leaves it out."""

    produce: str | None
    unfit_view: str | None
    table: str | None
    is_in_query: bool


def judged(value: bytes | None) -> Judged:
    record = Record(0, 1_000, None, value)
    batch = memoryview(encode_batch([record]))
    check = ColumnsCheck(COLUMNS)
    check.add(0, record)
    check.finish()
    shown = survivors(unfit_batch(UNFIT, batch))
    headers = dict(shown[0].headers) if shown else {}
    return Judged(
        check.misfits[0][1] if check.misfits else None,
        (headers[UNFIT_HEADER] or b"").decode() if shown else None,
        table_row(value)[REASON].to_pylist()[0],
        bool(survivors(filter_batch(QUERY, batch))),
    )


def table_row(value: bytes | None) -> pa.RecordBatch:
    """Return the row that a worker of the pipeline makes of a value."""
    return read_rows(pa.RecordBatch.from_pydict({"value": pa.array([value], pa.binary())}), TABLE)


@pytest.mark.parametrize("value", FITTING, ids=lambda value: repr(value)[:40])
def test_what_fits_at_one_door_fits_at_all(value: bytes | None) -> None:
    assert judged(value) == Judged(None, None, None, is_in_query=True)


@pytest.mark.parametrize(("value", "reason"), UNFITTING, ids=lambda text: repr(text)[:40])
def test_what_does_not_fit_at_one_door_fits_at_none_for_the_same_reason(value: bytes, reason: str) -> None:
    found = judged(value)
    assert found.produce is not None
    assert found.produce.startswith(reason)
    assert found == Judged(found.produce, found.produce, found.produce, is_in_query=False)


def test_a_time_that_a_view_can_have_and_a_table_not_is_the_only_difference() -> None:
    # A table counts microseconds, in 64 bits.
    last, beyond = b'{"d":9223372036854775}', b'{"d":9223372036854776}'
    assert judged(last) == Judged(None, None, None, is_in_query=True)
    assert judged(beyond) == Judged(
        None, None, "d: expected timestamp, got 9223372036854776", is_in_query=True
    )


def test_a_value_reads_the_same_in_a_view_and_in_a_table() -> None:
    import json

    value = b'{"a":-0,"n":5,"u":255,"c":5,"b":"\\u0041","v":"abc","i":true,"j":{"x": [1e400]}}'
    (record,) = survivors(filter_batch(QUERY, memoryview(encode_batch([Record(0, 1_000, None, value)]))))
    (found,) = table_row(value).to_pylist()
    row = {column.name: found[f"{FIELD}{at}"] for at, column in enumerate(TABLE.declared)}
    seen = json.loads(record.value or b"")
    assert seen.pop("j") == json.loads(str(row.pop("j")))
    assert seen == row
    assert row == {"a": 0, "n": 5, "u": 255, "c": 5.0, "b": "A", "v": "abc", "i": True, "d": None}

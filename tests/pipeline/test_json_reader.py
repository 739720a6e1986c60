"""JSON to columns: what fits, what does not and why, and that views decide the same."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.columns import parse_columns
from pipeline.json_reader import JsonReader
from views.columns import Columns
from views.columns import parse_columns as parse_view_columns
from views.plan import UnfitPlan, plan_view
from views.statement import parse_view
from views.unfit_judge import Judge

COLUMNS = (
    "a bigint, b string, c double, d timestamp, e decimal(6,2), f struct<g: int>, h array<int>, i boolean, "
    "j json, k map<string,timestamp>, l date, v varchar(3), u timestamp(us)"
)
READER = JsonReader(parse_columns(COLUMNS))
NAMES = [column.name for column in parse_columns(COLUMNS)]


def read(value: bytes | None, reader: JsonReader = READER) -> dict[str, Any]:
    """Return the columns of a value that fits and are not null."""
    columns, _, [reason] = reader.read([value])
    assert reason is None
    return {name: column[0] for name, column in zip(NAMES, columns, strict=True) if column[0] is not None}


@pytest.mark.parametrize(
    ("value", "columns"),
    [
        (b'{"a":1,"b":"x","c":1.5,"i":true}', {"a": 1, "b": "x", "c": 1.5, "i": True}),
        (b'{"d":"2013-01-01T10:00:00Z"}', {"d": 1_357_034_400_000_000}),
        (b'{"d":"2013-01-01 10:00:00+01:00"}', {"d": 1_357_030_800_000_000}),
        (b'{"d":1000,"u":1000}', {"d": 1_000_000, "u": 1_000}),
        (b'{"e":12.355}', {"e": Decimal("12.36")}),
        (b'{"e":"12.3"}', {"e": Decimal("12.30")}),
        (b'{"f":{"g":1,"x":2},"h":[1,null]}', {"f": {"g": 1}, "h": [1, None]}),
        (
            b'{"k":{"z":"2013-01-01"},"l":"2013-01-01"}',
            {"k": [("z", 1_356_998_400_000_000)], "l": date(2013, 1, 1)},
        ),
        (b'{"j":{"x":[1]}}', {"j": '{"x":[1]}'}),
        (b' \n{"a":1}\r\n', {"a": 1}),
        (b"{}", {}),
        (None, {}),
        (b'{"a":null,"f":null}', {}),
        (b'{"A":1}', {}),
        (b'{"a":1,"a":2}', {"a": 2}),
        ('{"b":"żółć 🛩"}'.encode(), {"b": "żółć 🛩"}),
    ],
)
def test_values_that_fit_are_read_into_columns(value: bytes | None, columns: dict[str, Any]) -> None:
    assert read(value) == columns


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "not JSON: the value is empty"),
        (b"null", "expected an object, got null"),
        (b"5", "expected an object, got a number"),
        (b'[{"a":1}]', "expected an object, got an array"),
        (b'{"a":1', "not JSON: input data was truncated"),
        (b'{"a":1}{"a":2}', "not JSON: trailing characters (byte 8)"),
        (b"{'a':1}", "not JSON: object keys must be strings (byte 1)"),
        (b'{"c":NaN}', "not JSON: invalid character (byte 5)"),
        (b'{"b":"\xff"}', "b: a string that is not UTF-8"),
        (b'{"a":"5"}', "a: expected bigint, got a string"),
        (b'{"a":2.5}', "a: expected bigint, got 2.5"),
        (b'{"b":5}', "b: expected string, got a number"),
        (b'{"v":"long"}', "v: a string of 4 characters is too long for varchar(3)"),
        (b'{"d":"soon"}', "d: 'soon' is not a timestamp"),
        (b'{"d":9223372036854775807}', "d: expected timestamp, got 9223372036854775807"),
        (b'{"e":123456.78}', "e: expected decimal(6,2), got 123456.78"),
        (b'{"e":"NaN"}', 'e: expected decimal(6,2), got "NaN"'),
        (b'{"e":1e999999}', "e: expected decimal(6,2), got 1e999999"),
        (b'{"f":{"g":"x"}}', 'f: expected struct<g:int>, got {"g":"x"}'),
        (b'{"h":[1,"x"]}', 'h: expected array<int>, got [1,"x"]'),
        (b'{"l":"x"}', 'l: expected date, got "x"'),
        (b'{"a":1,"c":"x","i":"y"}', "c: expected double, got a string; i: expected bool, got a string"),
        (b'{"x":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_values_that_do_not_fit_have_their_reason_and_no_columns(value: bytes, reason: str) -> None:
    columns, _, [found] = READER.read([value])
    assert found == reason
    assert all(column == [None] for column in columns)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"b":1}', "a: declared not null, but missing or null"),
        (b'{"a":null}', "a: declared not null, but missing or null"),
        (None, "a: declared not null, but the record has no value"),
        (b'{"a":"x"}', "a: expected int, got a string"),
    ],
)
def test_a_column_declared_not_null_makes_a_record_without_it_bad(value: bytes | None, reason: str) -> None:
    reader = JsonReader(parse_columns("a int not null, b int"))
    assert reader.read([value])[2] == [reason]


def test_undeclared_members_are_kept_as_text_where_asked() -> None:
    reader = JsonReader(parse_columns("a int"), rescue=True)
    _, rest, reasons = reader.read([b'{"a":1,"b":"x","c":{"d":[2]},"e":null}', b'{"a":1}', None])
    assert reasons == [None, None, None]
    assert rest == [[("b", "x"), ("c", '{"d":[2]}'), ("e", None)], None, None]


SHARED = (
    "a bigint, b string, c double, d timestamp, i bool, j json, v varchar(3), u timestamp(us), n int unsigned"
)
JUDGED = plan_view(parse_view("UNFIT t"), Columns(tuple(parse_view_columns(SHARED))))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "long", "2013-01-01", "2013-01-01T10:00:00Z", "2013-13-01", "5"]),
)
members = st.dictionaries(
    st.sampled_from("abcdijvunzA"), st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=5
)


@given(members)
def test_what_fits_the_columns_of_a_view_fits_the_same_columns_of_a_table(value: dict[str, Any]) -> None:
    import msgspec

    assert isinstance(JUDGED, UnfitPlan)
    text = msgspec.json.encode(value)
    unfit = bool(Judge(JUDGED).unfit({"value": [text]}, 1))
    columns = parse_columns(SHARED)
    _, _, [reason] = JsonReader(columns).read([text])
    # A table stores microseconds: times beyond year 294,000 fit a view, but not a table.
    if reason is not None and "expected timestamp, got" in reason and not unfit:
        return
    assert (reason is not None) == unfit


@pytest.mark.parametrize(
    "columns",
    [
        "n int",
        "n int not null",
        "n int, at timestamp",
        "n int not null, at timestamp not null, d decimal(4,1)",
    ],
)
@pytest.mark.parametrize("odd", list(range(64)))
def test_a_batch_reads_as_its_records_do_one_by_one(columns: str, odd: int) -> None:
    """Whole columns are read at once where all fits; faults of any kind change nothing else."""
    kinds: list[bytes | None] = [
        b'{"n":1,"at":1700000000000,"d":1.5}',
        b'{"n":"x"}',
        None,
        b'{"at":"2013-01-01T00:00:00Z"}',
        b'{"n":2,"at":"no time","d":1e9}',
        b"junk",
    ]
    values = [kind for at, kind in enumerate(kinds) if odd & 1 << at] * 2
    declared = parse_columns(columns)
    reader = JsonReader(declared)
    alone = [reader.read([value]) for value in values]
    read, rest, reasons = reader.read(values)
    assert read == [[found[at][0] for found, _, _ in alone] for at in range(len(declared))]
    assert rest == [found[0] for _, found, _ in alone]
    assert reasons == [found[0] for _, _, found in alone]

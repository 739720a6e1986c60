"""The text of kawal.columns: its declarations, and the sentence for each way to get it wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.rows import UNHURRIED
from views.column_types import BIGINT, DOUBLE, STRING, TIMESTAMP_MS, Type, parse_type
from views.columns import RESERVED, Column, Columns, parse_columns
from views.errors import ColumnsProblem


def test_columns_are_read_in_order_with_types_and_tags() -> None:
    columns = parse_columns("ts timestamp, current double, voltage bigint, location string tag")
    assert list(columns) == [
        Column("ts", TIMESTAMP_MS),
        Column("current", DOUBLE),
        Column("voltage", BIGINT),
        Column("location", STRING, is_tag=True),
    ]
    assert columns.names == ["ts", "current", "voltage", "location"]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("  a   INT  ,\n b  Varchar ( 20 )  TAG", "a int, b varchar(20) tag"),
        ("a int unsigned, b timestamp(ns)", "a int unsigned, b timestamp(ns)"),
        ("`with space, and ``quote``` any, é boolean", "`with space, and ``quote``` json, é bool"),
        ("tag string, tag_ int tag", "tag string, tag_ int tag"),
        ("a nchar(5) tag,b timestamp", "a nchar(5) tag, b timestamp(ms)"),
    ],
)
def test_what_is_stored_reads_back_as_the_same(text: str, stored: str) -> None:
    columns = parse_columns(text)
    assert str(columns) == stored
    assert parse_columns(stored) == columns


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("a int,, b int", "column 2 is empty"),
        ("a int,", "column 2 is empty"),
        ("a", "column 1, 'a', is not a name and a type"),
        ("a-b int", "must be in back-quotes"),
        ("`a int", "a back-quote is not closed"),
        ("a integer32", "column 'a' has the unknown type 'integer32'; known are bool, tinyint"),
        ("a decimal(10,2)", "unknown type 'decimal\\(10,2\\)'"),
        ("a varchar(0)", "its length is a number from 1 to 65,517"),
        ("a varchar(99999)", "its length is a number from 1"),
        ("a timestamp(s)", "unknown type"),
        ("a int tag tag", "unknown type 'int tag'"),
        ("a int, b int, a string", "column 'a' is declared twice"),
        ("_offset int", "column '_offset': every record has a column of this name"),
        ("TbName string", "every record has"),
        ('`a"b` int', "has a double quote, a backslash or a control character"),
        ("`a\\b` int", "a backslash"),
        ("`a\nb` int", "a control character"),
        ("`a\ud800` int", "the name of column 1"),
        ("x" * 300 + " int", "longer than 256"),
        ("a int" * 20_000, "at most 65536"),
        (",".join(f"c{n} int" for n in range(4_097)), "more than 4096 columns"),
    ],
)
def test_what_is_wrong_is_told_with_the_column(text: str, words: str) -> None:
    with pytest.raises(ColumnsProblem, match=words):
        parse_columns(text)


def test_names_are_found_exactly_or_else_but_for_case_when_only_one_fits() -> None:
    columns = parse_columns("Ab int, ab string, cd int, EF int, ef int")
    assert columns.find("Ab") == columns.declared[0]
    assert columns.find("CD") == columns.declared[2]
    assert columns.find("Ef") is None
    assert columns.find("x") is None


NAMES = st.text(
    alphabet=st.characters(exclude_categories=["C", "Z"], exclude_characters='"\\'), min_size=1
).filter(lambda name: name.lower() not in RESERVED)
TYPES: st.SearchStrategy[Type] = st.sampled_from(
    ["bool", "tinyint", "bigint unsigned", "float", "string", "varchar(7)", "timestamp(us)", "json"]
).map(lambda name: parse_type(name) or STRING)


@UNHURRIED
@given(
    st.lists(st.builds(Column, NAMES, TYPES, st.booleans()), min_size=1, unique_by=lambda column: column.name)
)
def test_any_columns_are_written_and_read_back(declared: list[Column]) -> None:
    columns = Columns(tuple(declared))
    assert parse_columns(str(columns)) == columns


@UNHURRIED
@given(st.text(alphabet="ab`,() tag int09", max_size=40))
def test_any_text_is_columns_or_a_problem(text: str) -> None:
    try:
        columns = parse_columns(text)
    except ColumnsProblem:
        return
    assert parse_columns(str(columns)) == columns

"""An edited job against its table: what widens it, and what is refused with the exact difference."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.errors import LedgerError
from pipeline.table_note import TableNote, fitted, note_of, widens
from tests.pipeline.made import LAKE, job, lake_shape

BEFORE = TableNote(
    columns={"a": "int", "b": "string", "offset": "bigint"}, required=["a"], partition_by=["date"]
)


def now(**changed: Any) -> TableNote:
    fields = {name: getattr(BEFORE, name) for name in BEFORE.__struct_fields__}
    return TableNote(**{**fields, **changed})


@pytest.mark.parametrize(
    ("changed", "columns", "sentence"),
    [
        ({"columns": {**BEFORE.columns, "c": "double"}}, {"c": "double"}, "new column 'c' double, null in"),
        (
            {"columns": {**BEFORE.columns, "a": "bigint"}},
            {"a": "bigint"},
            "column 'a' becomes bigint, from int",
        ),
        ({"required": []}, {}, "column 'a' may be null from now on"),
    ],
)
def test_what_every_reader_takes_widens_the_table(
    changed: dict[str, Any], columns: dict[str, str], sentence: str
) -> None:
    note, widened = fitted("/lake/t", BEFORE, now(**changed))
    assert note.columns == {**BEFORE.columns, **columns}
    assert len(widened) == 1
    assert widened[0].startswith(sentence)


def test_an_unchanged_job_changes_nothing() -> None:
    assert fitted("/lake/t", BEFORE, BEFORE) == (BEFORE, [])


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        (
            {"columns": {**BEFORE.columns, "a": "string"}},
            "column 'a' is int in the table, but string in the job",
        ),
        ({"columns": {**BEFORE.columns, "a": "smallint"}}, "column 'a' is int in the table, but smallint"),
        (
            {"columns": {"a": "int", "offset": "bigint"}},
            "column 'b' (string) of the table is missing in the job",
        ),
        (
            {"columns": {**BEFORE.columns, "c": "int"}, "required": ["a", "c"]},
            "column 'c' is new and declared not",
        ),
        ({"required": ["a", "b"]}, "column 'b' is declared not null, but rows of the table may have none"),
        ({"partition_by": []}, "sink.partition_by is ['date'] in the table, but [] in the job"),
        ({"kind": "delta"}, "sink.kind is 'parquet' in the table, but 'delta' in the job"),
    ],
)
def test_everything_else_is_refused_by_name(changed: dict[str, Any], difference: str) -> None:
    with pytest.raises(LedgerError) as refused:
        fitted("/lake/t", BEFORE, now(**changed))
    assert difference in str(refused.value)


def test_all_differences_are_named_at_once() -> None:
    with pytest.raises(LedgerError) as refused:
        fitted("/lake/t", BEFORE, now(columns={"a": "string"}, partition_by=[]))
    assert str(refused.value).count(";") == 3


@pytest.mark.parametrize(
    ("before", "after", "wider"),
    [
        ("tinyint", "bigint", True),
        ("bigint", "int", False),
        ("float", "double", True),
        ("int", "double", False),
        ("decimal(6,2)", "decimal(10,2)", True),
        ("decimal(6,2)", "decimal(10,4)", False),
    ],
)
def test_a_type_widens_within_its_family(before: str, after: str, wider: bool) -> None:
    assert widens(before, after) is wider


def test_the_note_of_a_job_has_every_column_with_its_stored_type() -> None:
    made = job(
        LAKE,
        schema={"mode": "json", "columns": "a int not null, t timestamp", "rescue": "rest", "headers": True},
    )
    shape = lake_shape("a int not null, t timestamp", schema={"rescue": "rest", "headers": True})
    note = note_of(made, shape)
    assert note.columns == {
        "a": "int",
        "t": "timestamp",
        "rest": "map<string,string>",
        "key": "string",
        "headers": "array<struct<key:string,value:binary>>",
        "topic": "string",
        "partition": "int",
        "offset": "bigint",
        "timestamp": "timestamp",
    }
    assert note.required == ["a"]

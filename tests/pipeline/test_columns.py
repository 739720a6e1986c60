"""The columns of `schema.columns`, read without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.columns import parse_columns, struct_json
from pipeline.errors import JobFileError


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a bigint", "bigint"),
        ("a LONG", "bigint"),
        ("a bool", "boolean"),
        ("a int unsigned", "bigint"),
        ("a tinyint unsigned", "smallint"),
        ("a varchar(10)", "string"),
        ("a char(3)", "string"),
        ("a json", "string"),
        ("a timestamp", "timestamp"),
        ("a timestamp(us)", "timestamp"),
        ("a timestamp_ntz", "timestamp_ntz"),
        ("a decimal", "decimal(10,0)"),
        ("a decimal(6, 2)", "decimal(6,2)"),
        ("a date not null comment 'x, y'", "date"),
        ("a array<struct<b: int, c: map<string, double>>>", "array<struct<b:int,c:map<string,double>>>"),
    ],
)
def test_a_declared_type_is_stored_as(text: str, stored: str) -> None:
    [column] = parse_columns(text)
    assert str(column.type) == stored


def test_columns_have_names_and_may_be_null_unless_declared_otherwise() -> None:
    columns = parse_columns("a int not null, `odd, name` string,\n b double")
    assert [(column.name, column.nullable) for column in columns] == [
        ("a", False),
        ("odd, name", True),
        ("b", True),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a", "gives column 'a' no type; write 'a bigint'"),
        ("a foo", "gives column 'a' the unknown type 'foo'; known are"),
        ("a bigin", "did you mean 'bigint'?"),
        ("a int b int", "has 'b' where ',' should be, after column 'a'"),
        ("a int,", "ends where the name of a column should be"),
        ("a int, a double", "declares 'a' twice"),
        ("a decimal(50,2)", "at most 38 digits"),
        ("a decimal(x)", "parameters (x)"),
        ("a map<int, int>", "keys that are not string"),
        ("a array<int", "has 'nothing' where '>' should be"),
        ("a int not", "ends where null should be"),
        ("a #", "cannot be read at"),
        ("a " + "array<" * 40 + "int" + ">" * 40, "deeper than 24"),
    ],
)
def test_columns_that_cannot_be_read_are_refused_with_their_name(text: str, problem: str) -> None:
    with pytest.raises(JobFileError) as refused:
        parse_columns(text)
    assert problem in str(refused.value)


def test_the_json_form_is_the_one_that_spark_reads(spark: Any) -> None:
    from pyspark.sql.types import StructType

    text = (
        "a bigint, b struct<c: array<int>, d: map<string, decimal(6,2)>>, e timestamp, f boolean, g tinyint"
    )
    assert StructType.fromJson(struct_json(parse_columns(text))) == StructType.fromDDL(text)

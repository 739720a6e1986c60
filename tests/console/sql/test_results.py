"""Answers as tables, JSON and CSV."""

from __future__ import annotations

import json

from console.sql.results import Format, Result

ROWS = Result(
    columns=("topic_name", "partitions", "topics", "schema", "lag"),
    rows=[("a,b", 2, ["x", "y"], {"k": 1}, None), ("ü", 10, [], None, 1.5)],
)


def test_a_table_is_for_people() -> None:
    assert ROWS.rendered(Format.TABLE).splitlines() == [
        "TOPIC NAME  PARTITIONS  TOPICS  SCHEMA    LAG",
        'a,b                  2  x, y    {"k": 1}  -',
        "ü                   10          -         1.5",
    ]
    assert Result(columns=("a",)).rendered(Format.TABLE) == "no rows"
    assert Result(columns=("a",), rows=[(1,)], text="in words").rendered(Format.TABLE) == "in words"


def test_json_has_an_object_for_each_row_or_a_tree() -> None:
    assert json.loads(ROWS.rendered(Format.JSON))[1] == {
        "topic_name": "ü",
        "partitions": 10,
        "topics": [],
        "schema": None,
        "lag": 1.5,
    }
    assert json.loads(Result(tree={"a": [1]}).rendered(Format.JSON)) == {"a": [1]}


def test_csv_has_its_heads_and_quotes_what_needs_it() -> None:
    assert ROWS.rendered(Format.CSV) == (
        'topic_name,partitions,topics,schema,lag\n"a,b",2,"[""x"", ""y""]","{""k"": 1}",\nü,10,[],,1.5'
    )
    assert Result(columns=("b",), rows=[(True,)]).rendered(Format.CSV) == "b\ntrue"

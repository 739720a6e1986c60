"""Columns that all of some values fit."""

from __future__ import annotations

import pytest

from console.web.masks import TopicMask
from console.web.proposal import propose
from protocol.record_reader import Record
from views.columns import parse_columns
from views.plan import plan_view
from views.statement import parse_view
from views.unfit_judge import judge_of


@pytest.mark.parametrize(
    ("values", "columns"),
    [
        ([b'{"a":1}', b'{"a":-9223372036854775808}'], "a bigint"),
        ([b'{"a":9223372036854775808}'], "a json"),
        ([b'{"a":1}', b'{"a":1.5}'], "a double"),
        ([b'{"a":1e400}'], "a json"),
        ([b'{"a":true}', b'{"a":null}'], "a bool"),
        ([b'{"a":"2024-05-01T12:00:00Z"}', b'{"a":"2024-05-01"}'], "a timestamp(ms)"),
        ([b'{"a":"2024-05-01"}', b'{"a":"soon"}'], "a string"),
        ([b'{"a":"x"}', b'{"a":1}'], "a json"),
        ([b'{"a":{"b":1}}'], "a json"),
        ([b'{"a":null}'], "a json"),
        ([b'{"odd name":1,"b":"x"}'], "`odd name` bigint, b string"),
        ([b'{"tbname":1,"q\\"q":1,"":1,"_key":2,"\xe2\x80\xae":1}'], "None"),
        ([b"[]", b"1", b"\xff", None], "None"),
    ],
)
def test_types_are_the_narrowest_that_all_values_fit(values: list[bytes | None], columns: str) -> None:
    found = propose(values)
    assert str(found.columns) == columns
    if found.columns is not None:
        plan = plan_view(parse_view("UNFIT t"), parse_columns(columns))
        assert judge_of(plan).misfits([Record(0, 0, None, value) for value in values]) == []


def test_of_a_masked_column_only_the_name_is_told() -> None:
    found = propose([b'{"a":1,"b":2}'], TopicMask(columns=frozenset({"a"})))
    assert str(found.columns) == "a json, b bigint"


def test_what_was_looked_at_is_counted() -> None:
    found = propose([b"{}", b"x", b'{"a":1}'])
    assert (found.records, found.objects) == (3, 2)

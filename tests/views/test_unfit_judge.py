"""The judge of records: which do not fit, why, and which of those WHERE takes."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.record_reader import Record
from tests.views.rows import make_plan
from views.plan import UnfitPlan
from views.tags import UnfitTag, header_reader
from views.unfit_judge import FIT_TAGS, Judge, judge_of


def judge(sql: str, columns: str = "n int, city string tag") -> Judge:
    plan = make_plan(sql, columns)
    assert isinstance(plan, UnfitPlan)
    return judge_of(plan)


def test_records_are_judged_by_what_they_hold() -> None:
    one = judge("UNFIT t (n)")
    assert not one.reads_headers
    assert one.unfit({"value": [b"{}", b"[]", None, b'{"n":"x"}', b'{"city":5}']}, 5) == [1, 3]
    assert one.unfit({"value": [b"{}"]}, 1) == []
    assert one.explain(b"[]") == "expected an object, got an array"


def test_records_that_do_not_fit_are_named_with_the_reason() -> None:
    city = (("kawal.tag.city", b"\xff"),)
    many = tuple(("x", None) for _ in range(10_001))
    records = [
        Record(0, 0, b"k", b'{"n":1}'),
        Record(1, 0, b"k", None, city),
        Record(2, 0, b"k", b'{"n":"x"}'),
        Record(3, 0, b"k", b"{}", many),
        Record(4, 0, b"k", b" " * ((16 << 20) + 1)),
    ]
    found = judge("UNFIT t").misfits(records)
    assert found == [
        (1, "city: the header kawal.tag.city is not UTF-8"),
        (2, "n: expected int, got a string"),
        (3, "tags are looked for in 10000 headers at most, and there are 10001"),
        (4, "a value of 16777217 bytes is not looked at; at most 16777216 are allowed"),
    ]
    assert judge("UNFIT t (n)").misfits(records[:2]) == []


def test_tags_are_read_from_headers_and_no_key_is_remembered() -> None:
    one = judge("UNFIT t")
    assert one.reads_headers
    headers = [(), (("kawal.tag.city", b"Rome"),), (("kawal.tag.city", b"\xff"),)]
    columns: dict[str, list[Any]] = {"value": [b"{}"] * 3, "key": [b"k"] * 3, "headers": headers}
    assert one.unfit(columns, 3) == [2]
    assert FIT_TAGS.by_key.get(b"k") is None
    kind = make_plan("UNFIT t", "size int tag").uses[0].type
    with pytest.raises(UnfitTag):
        FIT_TAGS.resolve([("size", header_reader("size", kind))], b"k", (("kawal.tag.size", b"x"),), (None,))


def test_where_is_asked_of_what_it_needs() -> None:
    assert list(judge("UNFIT t").asked_for({}, 2)) == [0, 1]
    one = judge("UNFIT t WHERE _offset > 5 AND tbname = 'k'")
    assert one.asks == {"key", "offset"}
    assert list(one.asked_for({"key": [b"k", b"k", b"x"], "offset": [5, 6, 7]}, 3)) == [1]


def test_plans_that_are_equal_share_their_judge() -> None:
    assert judge("UNFIT t") is judge("UNFIT t")
    assert judge("UNFIT t") is not judge("UNFIT t", "n bigint")

"""The judge of records: which do not fit, why, and which of those WHERE takes."""

from __future__ import annotations

from typing import Any

import pytest

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

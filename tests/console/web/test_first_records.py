"""The first records of ranges, within bounds."""

from __future__ import annotations

import pytest

from console.web import first_records as module
from console.web.first_records import Range, first_records
from console.web.masks import Masks
from console.web.record_rows import Budget
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web


@pytest.fixture
def web() -> Web:
    found = Web()
    create(found.broker.client(), "t")
    for number in range(5):
        send(found.broker.client(), "t", batch(b"%d" % number))
    return found


def ranges(*firsts: int) -> list[Range]:
    return [Range("t", 0, first, first) for first in firsts]


def test_each_range_has_its_first_record(web: Web) -> None:
    with web.at_work():
        found = first_records(ADDRESS, ranges(0, 3), Masks())
    assert [row.value for row in found.rows.values()] == [b"0", b"3"]
    assert found.problems == {}


def test_so_many_are_read_and_no_more(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECORDS_MAX", 2)
    with web.at_work():
        assert len(first_records(ADDRESS, ranges(0, 1, 2, 3), Masks()).rows) == 2


def test_time_is_bounded_too(web: Web) -> None:
    moments = iter([0.0, 1e9])
    budget = Budget(lambda: next(moments, 1e9))
    with web.at_work():
        assert first_records(ADDRESS, ranges(0, 1), Masks(), budget).rows == {}


def test_a_topic_that_cannot_be_read_is_told_once_and_the_others_are_read(web: Web) -> None:
    wanted = [Range("gone", 0, 0, 0), Range("gone", 0, 1, 1), *ranges(1)]
    with web.at_work():
        found = first_records(ADDRESS, wanted, Masks())
    assert list(found.problems) == ["gone"]
    assert [row.value for row in found.rows.values()] == [b"1"]
